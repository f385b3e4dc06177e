/* explore.h - runs concurrent code through all its interleavings and all its deaths.
 *
 * A case is a handful of tasks over a piece of memory.  Before each access to a word
 * that they share the code calls explore_point(), and there the explorer decides who goes
 * on.  One run of all tasks to their ends is a schedule; the explorer tries them all,
 * depth first: it plays a recorded list of choices from the beginning, goes on with
 * the first choice wherever the list has ended, checks, and comes back to the last
 * place where there was another choice.
 *
 *	choice		meaning
 *	a, b, ...	the task makes its next access, and goes on to the one after it
 *	!a		the task dies: it never runs again, its memory stays as it is
 *	?a		the sleep of the task ends by time
 *
 * Written as a string, "a7b3!a" is seven steps of the first task, three of the second,
 * and the death of the first.  A failure prints such a string, and who plays it again
 * sees each step.
 *
 * What makes it affordable: a state that was met before is not gone into again.  A
 * state is all of the memory, and for each task everything it has ever read, which
 * together with its code says where it stands and what it holds.  (64 bits of hash stand for
 * it; at ten million states the odds of one mistaken for another are one in 300,000.)
 *
 * What that asks of a case: tasks are deterministic; they read what others write only
 * at points; what they write down for later checks across tasks lies in the memory of the
 * case too.
 *
 * Two exact savings.  A death is tried only where the task is about to change something
 * or sleeps: dying a read earlier leaves the same world.  And a sleep ends by time when
 * nobody can go on and somebody has died since, otherwise only as often as the case
 * says: a wake-up that comes by time alone was lost.
 *
 * What is not covered: interleavings are sequentially consistent.  Weaker orders of the
 * hardware and the compiler are left to ThreadSanitizer and to machines.
 *
 * One thread, one case at a time. */
#ifndef TESTS_EXPLORE_EXPLORE_H
#define TESTS_EXPLORE_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	EXPLORE_MAX_TASKS = 6,
	EXPLORE_MAX_STEPS = 4096, /* of a schedule; more is taken for a live-lock */
	EXPLORE_UNBOUNDED = 255, /* preemptions */
};

/* What a task is about to do. */
enum explore_op {
	EXPLORE_LOAD,
	EXPLORE_STORE,
	EXPLORE_RMW, /* compare and swap, fetch and add, ... */
	EXPLORE_FENCE,
	EXPLORE_WAIT,
	EXPLORE_WAKE,
	EXPLORE_DEATH, /* asks whether another has died */
};

struct explore_task {
	const char *name;
	void (*run)(void *arg);
	void *arg;
	bool mortal; /* may be killed */
};

struct explore_case {
	const char *name;
	const char *about; /* one sentence */
	struct explore_task
		tasks[EXPLORE_MAX_TASKS]; /* up to the first without run */
	void *memory; /* all that tasks share, and the notes of the checks */
	size_t size; /* a multiple of 64 */
	void (*setup)(const struct explore_case *c); /* memory is zero */
	void (*step)(
		const struct explore_case *c); /* before each choice; or NULL */
	void (*end)(const struct explore_case
			    *c); /* all have ended or died; or NULL */
	/* The name of a word, for traces; or NULL. */
	void (*name_word)(const struct explore_case *c,
			  const volatile void *word, char *text, size_t size);
	const void *arg; /* the case's own */
	unsigned preemptions; /* tried at most: switches away from a task that could
			       * have gone on; or EXPLORE_UNBOUNDED */
	unsigned kills; /* tried at most */
	unsigned timeouts; /* sleeps that end by time at any moment, tried at most */
};

/* ---- for the code that is explored ---- */

/* The calling task is about to do `op` with the word of `size` bytes. */
void explore_point(enum explore_op op, const volatile void *word,
		   unsigned size);

/* As futex(2): sleeps if the word has this value.  0 after a wake-up, -EAGAIN for
 * another value, -ETIMEDOUT. */
int explore_wait(const volatile uint32_t *word, uint32_t value);
void explore_wake(const volatile uint32_t *word);

/* Has that task died?  A point, as an outside world could be asked any time.  The second
 * is no point: for notes and checks, not for what a task decides by. */
bool explore_is_dead(unsigned task);
bool explore_has_died(unsigned task);

/* Sleeps until more than `known` tasks have died; false when that cannot happen any
 * more, since all others have ended. */
bool explore_await_death(unsigned known);

/* All that the calling task knows is `knows`: from here on it would do the same, whatever
 * else it has read.  States that differ in what tasks have forgotten are the same, which
 * saves most where tasks wait in loops. */
void explore_forget(uint64_t knows);

/* The calling task; -1 outside of tasks: in setup, step and end points do nothing, so
 * that checks may use the code that is checked. */
int explore_self(void);

/* Ends the schedule as a failure. */
_Noreturn void explore_fail(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

#define explore_check(condition)                                           \
	do {                                                               \
		if (!(condition))                                          \
			explore_fail("%s:%d: %s", __FILE_NAME__, __LINE__, \
				     #condition);                          \
	} while (0)

/* ---- for who explores ---- */

struct explore_result {
	bool failed;
	bool complete; /* all schedules within the bounds were tried */
	char message[256];
	char schedule[4096]; /* of the failure */
	unsigned preemptions; /* of the failure; no schedule with fewer fails */
	uint64_t n_states;
	uint64_t n_schedules;
	uint64_t n_steps;
	double seconds;
};

/* Tries all schedules within the bounds of the case, up to `max_states` states. */
void explore_all(const struct explore_case *c, uint64_t max_states,
		 struct explore_result *ret);

/* Tries schedules at random, for `seconds`; for cases too large to try all. */
void explore_random(const struct explore_case *c, uint64_t seed, double seconds,
		    struct explore_result *ret);

/* Plays one schedule and prints each step on stdout.  -EINVAL for a string that is none, or
 * asks for what cannot happen. */
int explore_replay(const struct explore_case *c, const char *schedule,
		   struct explore_result *ret);

#endif
