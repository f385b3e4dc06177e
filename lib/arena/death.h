/* death.h - who has died, and telling it: a handle's part of it.
 *
 * Guarded by the lock of the handle. */
#ifndef ROAR_ARENA_DEATH_H
#define ROAR_ARENA_DEATH_H

#include <stdatomic.h>

#include "arena/arena_api.h"
#include "arena/protocol/protocol.h"

struct peer {
	uint64_t word; /* whom the descriptor is of */
	int pidfd; /* or PROCESS_GONE, PROCESS_UNKNOWN */
};

struct expected {
	int pid;
	int pidfd;
	uint64_t started; /* 0: not known */
};

struct deaths {
	struct peer peers[ARENA_PARTIES];
	struct expected expected[ARENA_PARTIES];
	unsigned n_expected;
	uint64_t pid_space; /* ours */
	uint64_t told[ARENA_PARTIES]; /* `died` of each place, as told of */
	uint64_t at_join[ARENA_PARTIES]; /* and as it was when we joined */
	_Atomic uint64_t count; /* of deaths, when nothing was left to tell */
	_Atomic uint64_t looked_ns;
	bool any;
	struct roar_arena_death last; /* the one told */
};

void deaths_init(struct deaths *d);
void deaths_release(struct deaths *d);
void deaths_begin(struct roar_arena *a);

/* Lets those who expect this process know that it has joined, for good. */
void deaths_note_join(struct roar_arena *a, uint64_t started);

/* For who has no place: takes over that of a dead one, `place` or any from there on.
 * Returns the place, or `none` when all of them live. */
int deaths_inherit(struct roar_arena *a, unsigned place, bool any,
		   unsigned roles, int none);

/* Looks for the dead now and then, sweeps them, and tells of one that matters to who
 * waits at this bell, for units of `from`: -ECONNRESET with its sentence.  0: none. */
int deaths_look(struct roar_arena *a, enum arena_bell bell, uint32_t from);

#endif
