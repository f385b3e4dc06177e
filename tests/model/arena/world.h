/* world.h - one schedule: tasks that stand at their points, and what may happen next.
 *
 * For the family of explore.h.  The world asks a chooser at each step; what the chooser
 * does (depth first, at random, from a string) is not its business. */
#ifndef TESTS_EXPLORE_WORLD_H
#define TESTS_EXPLORE_WORLD_H

#include "explore.h"

/* A choice is a kind and a task; a set of them is a mask with 1 << choice. */
enum choice_kind {
	CHOICE_RUN = 0,
	CHOICE_TIMEOUT = 8,
	CHOICE_KILL = 16,
	CHOICE_STOP =
		24, /* not an option: ends the schedule, nothing more to see */
	CHOICE_TASK = 7, /* the bits that are the task */
};

enum task_state {
	TASK_READY, /* at a point */
	TASK_ASLEEP, /* in explore_wait() */
	TASK_MOURNING, /* in explore_await_death() */
	TASK_ENDED,
	TASK_DEAD,
};

struct task {
	enum task_state state;
	enum explore_op op; /* what it is about to do, or sleeps in */
	const volatile void *word;
	unsigned size;
	uint64_t before; /* value of the word just before the access */
	uint64_t history; /* hash of all it has read */
	unsigned deaths; /* that it has slept through already */
	bool timed_out;
};

enum outcome {
	OUTCOME_ENDED, /* all tasks ended or died, checks passed */
	OUTCOME_STOPPED, /* by the chooser */
	OUTCOME_FAILED,
};

struct world {
	const struct explore_case *c;
	unsigned preemptions, kills; /* bounds of this search */
	unsigned (*choose)(struct world *w, uint32_t options);
	/* Told of each access that was made, and of each kill and timeout; or NULL. */
	void (*tell)(struct world *w, unsigned choice);

	struct task tasks[EXPLORE_MAX_TASKS];
	unsigned n_tasks;
	int current; /* the task that ran last and may go on; or -1 */
	unsigned n_preemptions, n_deaths, n_timeouts;
	unsigned n_steps;
	enum outcome outcome;
	char message[256];
};

/* Plays one schedule from the beginning. */
void world_play(struct world *w);

/* A hash of everything that what follows depends on. */
uint64_t world_key(const struct world *w);

/* The value of a word of 1 to 8 bytes. */
uint64_t world_peek(const volatile void *word, unsigned size);

#endif
