/* arena.h - one process's side of an arena: the handle, and units in hand.
 *
 * Private to lib/arena.  A handle counts the units in hand: closed while there are some,
 * it keeps the memory, and the place, until the last is released.  Those that were
 * reserved and not committed are given back when it is closed, and keep only the memory.
 *
 * The lock is for what is slow anyway: sleeping, the list of units kept for later,
 * the dead.  Everything else is atomic. */
#ifndef ROAR_ARENA_ARENA_H
#define ROAR_ARENA_ARENA_H

#include <pthread.h>
#include <stdatomic.h>

#include "arena/arena_api.h"
#include "arena/death.h"
#include "arena/protocol/failure.h"
#include "arena/protocol/protocol.h"

enum { HELD_FEW = 8 }; /* buffers of a unit that need no malloc */

/* A unit in the hands of this process; its place has the same index. */
struct held_unit {
	struct roar_arena_unit unit; /* first: the caller's pointer */
	_Atomic uint32_t refs; /* 0: not in hand */
	bool received; /* otherwise reserved */
	bool gone; /* its handle was closed before it was committed */
	uint32_t n_children;
	uint32_t *children; /* units that go with it when it is committed */
	uint64_t flags; /* enum arena_unit_flags, of one received */
	uint64_t message; /* that it is a piece of */
	void *memory; /* of one that came in pieces */
	struct held_unit *next; /* of those kept for later */
	struct roar_arena_buffer few[HELD_FEW];
};

struct roar_arena {
	struct arena_map map;
	int fd;
	int pid; /* of this process when the handle was made */
	unsigned forks; /* before that */
	_Atomic int me; /* our place; -1: none */
	unsigned roles;
	unsigned share;
	_Atomic uint32_t refs; /* the handle, and each unit in hand */
	_Atomic uint32_t n_gone; /* of these, units that are `gone` */
	_Atomic int64_t spin_ns;
	_Atomic uint64_t sequence; /* of the next unit committed */
	struct held_unit *hands; /* one for each place */

	pthread_mutex_t lock;
	unsigned n_sleeping[2]; /* threads, for each bell */
	struct deaths deaths;
	struct held_unit
		*kept; /* received, for another `from` than was asked for; the
			    * oldest first */
	_Atomic uint32_t n_kept;

	pthread_mutex_t send_lock; /* of the next two */
	pthread_cond_t send_turn; /* nobody is sending; by CLOCK_MONOTONIC */
	bool sending; /* a message in pieces: one at a time, whose sender
		       * alone has the next */
	uint64_t given_up; /* the last one that was not finished */
	pthread_mutex_t piece_lock;
	struct partial *partials;
};

/* May this process use the handle, in this role?  -EPERM. */
int arena_check(const struct roar_arena *a, unsigned role);
bool arena_is_forked(const struct roar_arena *a);
void arena_unref(struct roar_arena *a);

static inline unsigned arena_me(const struct roar_arena *a)
{
	return (unsigned)atomic_load_explicit(&a->me, memory_order_relaxed);
}

static inline struct arena_counts *arena_counts(const struct roar_arena *a)
{
	return &a->map.parties[arena_me(a)].counts;
}

/* Adds `n` bytes, rounded up to ROAR_ARENA_ALIGN; true when that is no number. */
static inline bool arena_add_aligned(uint64_t *sum, uint64_t n)
{
	return __builtin_add_overflow(n, (uint64_t)ROAR_ARENA_ALIGN - 1, &n) ||
	       __builtin_add_overflow(
		       *sum, n & ~(uint64_t)(ROAR_ARENA_ALIGN - 1), sum);
}

/* Of a unit that is a piece of a message. */
struct piece_of {
	uint64_t message;
	uint64_t sequence; /* of the message; all its pieces have it */
	bool first;
};

/* roar_arena_reserve(), of a piece as well; `piece` may be NULL. */
int arena_reserve(struct roar_arena *a, const struct roar_arena_part *parts,
		  size_t n_parts, size_t envelope_len,
		  const struct piece_of *piece, long long timeout_ns,
		  struct roar_arena_unit **ret);

/* INT64_MAX for a timeout without end. */
int64_t arena_deadline_ns(long long timeout_ns);

/* ---- units in hand (held_units.c) ---- */

/* Room for `n` buffers; -ENOMEM. */
int held_unit_buffers(struct held_unit *h, size_t n);

/* Puts the unit into the caller's hands. */
struct roar_arena_unit *held_unit_take(struct roar_arena *a, uint32_t index);

/* Takes it out of them, without giving anything back. */
void held_unit_forget(struct held_unit *h);

/* The same in two steps, for a unit that may have to be taken back. */
struct held_memory {
	struct roar_arena_buffer *buffers;
	uint32_t *children;
	uint32_t n_children;
};

struct held_memory held_unit_put_down(struct held_unit *h);
void held_unit_pick_up(struct held_unit *h, const struct held_memory *things);
void held_memory_free(const struct held_unit *h,
		      const struct held_memory *things);

/* ---- waiting (arena_wait.c) ---- */

/* A call that waits is a loop of tries with a pause between them: first a few that
 * follow at once, then one after the bell was armed, and then one after each sleep.  An
 * end (shutdown, time, a death) is told only after one more try, so
 * that what was committed before it is received. */
struct arena_wait {
	struct roar_arena *a;
	enum arena_bell bell;
	uint32_t from; /* whose units; ROAR_ARENA_ANY */
	bool waits; /* a timeout other than 0 */
	bool armed;
	int end; /* what to return when the next try fails too; a death
			* has put its sentence into `failure` */
	char failure[256];
	int64_t deadline_ns; /* INT64_MAX: none */
	int64_t spin_until_ns; /* 0: not begun */
	uint32_t *word;
	uint32_t seen;
};

void arena_wait_begin(struct arena_wait *p, struct roar_arena *a,
		      enum arena_bell bell, long long timeout_ns);

/* After a try that got nothing: 0 to try again, or -EAGAIN, -ETIMEDOUT, -EPIPE,
 * -ECONNRESET with a sentence. */
int arena_wait_next(struct arena_wait *p);
void arena_wait_end(struct arena_wait *p);

#endif
