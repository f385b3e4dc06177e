/* death.h - how a handle finds dead parties and reports them.
 *
 * Everything here is guarded by the lock of the handle, but for the atomic fields. */
#ifndef ROAR_ARENA_DEATH_H
#define ROAR_ARENA_DEATH_H

#include <stdatomic.h>

#include "arena/arena_api.h"
#include "arena/protocol/protocol.h"

struct peer {
	uint64_t word; /* party word of the process that the pidfd refers to */
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
	uint64_t pid_space; /* PID namespace of this process */
	uint64_t told[ARENA_PARTIES]; /* `died` of each place, as last reported */
	uint64_t at_join[ARENA_PARTIES]; /* `died` of each place when we joined */
	_Atomic uint64_t
		count; /* header's count of deaths when all were reported */
	_Atomic uint64_t looked_ns;
	bool any;
	struct roar_arena_death last; /* the one reported last */
};

void deaths_init(struct deaths *d);
void deaths_release(struct deaths *d);
void deaths_begin(struct roar_arena *a);

/* Writes down that this process has joined, for parties that expect it. */
void deaths_note_join(struct roar_arena *a, uint64_t started);

/* For a process without a place: takes over the place of a dead party, `place` itself or
 * any from there on.  Returns the place, or `none` if all parties are alive. */
int deaths_inherit(struct roar_arena *a, unsigned place, bool any,
		   unsigned roles, int none);

/* Checks for deaths (at most every few milliseconds), sweeps the dead parties, and reports
 * one that matters to a wait at this bell for units of `from`: -ECONNRESET with its
 * sentence.  0: none. */
int deaths_look(struct roar_arena *a, enum arena_bell bell, uint32_t from);

#endif
