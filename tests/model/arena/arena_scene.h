/* arena_scene.h - an arena on a small stage, for the explorer.
 *
 * The memory of a case is an arena, made by the code that makes real ones, and behind it notes
 * about what was sent and what arrived.  Task i is the party in place i, with i + 1 as
 * its pid.  Actions are those of the library, without what needs a kernel: the explorer
 * is the kernel here. */
#ifndef TESTS_EXPLORE_ARENA_SCENE_H
#define TESTS_EXPLORE_ARENA_SCENE_H

#include "arena/protocol/protocol.h"
#include "explore.h"

enum {
	SCENE_MESSAGES = 8,
	SCENE_UNITS = 8,
	SCENE_BYSTANDER = 8, /* the role of who neither sends nor takes */
	SCENE_DEAD_PID = 99, /* of nobody who lives */
	SCENE_UNDERTAKER = ARENA_PARTIES -
			   1, /* place of who cleans up after the last act */
};

/* One task. */
struct actor {
	unsigned place; /* its number as a task, too */
	unsigned roles;
	unsigned n; /* messages it sends; or takes before it leaves: 0: all */
	unsigned first; /* number of its first message */
	uint64_t bytes; /* of each; 0: nothing but an envelope */
	unsigned keeps; /* messages it takes before it drops the oldest */
	unsigned already; /* of the n, sent before the first act */
	bool adopts; /* each message has a part in a unit of its own */
	bool pieces; /* its first two messages are pieces of one */
	bool late; /* joins by itself */
	bool heir; /* joins by itself, in a place that a dead one has */
	bool dead; /* from the beginning, while it reserved `bytes`; has no task */
};

struct scene {
	uint32_t flags; /* enum roar_arena_flags */
	uint32_t n_units;
	uint64_t size_bytes;
	const struct actor *actors;
	unsigned n_actors;
};

/* Sets of messages are masks.  Hands are masks of tasks. */
struct notes {
	uint8_t begun; /* their commit was begun, */
	uint8_t sent; /* and is done */
	uint8_t before[SCENE_MESSAGES]; /* sent when this one was begun */
	uint8_t n_got[EXPLORE_MAX_TASKS + 1]; /* the last one: the undertaker */
	uint8_t got[EXPLORE_MAX_TASKS + 1][SCENE_MESSAGES]; /* in order */
	uint8_t hands[SCENE_UNITS]; /* who has the unit */
};

/* For struct explore_case. */
extern unsigned char scene_memory[];
enum { SCENE_BYTES = 48 << 10 };
void scene_setup(const struct explore_case *c);
void scene_step(const struct explore_case *c);
void scene_end(const struct explore_case *c);
void scene_name_word(const struct explore_case *c, const volatile void *word,
		     char *text, size_t size);

/* Tasks; `arg` is a struct actor. */
void act_produce(void *arg); /* sends n messages and leaves */
void act_consume(
	void *arg); /* takes until no producer is left, or n, and leaves */
void act_visit(void *arg); /* joins, takes what there is, leaves */
void act_return(void *arg); /* leaves, and visits in the same place */
void act_inherit(void *arg); /* takes the place of the dead, and visits */
void act_bury(void *arg); /* gives back what those had who are dead by now */
void act_sweep(void *arg); /* gives back what the dead had, whenever one dies */

#endif
