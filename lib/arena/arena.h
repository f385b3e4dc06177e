/* arena.h - one process's side of an arena: the handle, and the units it holds.
 *
 * Private to lib/arena.  A handle counts the units it holds.  If it is closed while it
 * holds some, the mapping and the place stay until the last one is released.  Units that
 * were reserved and not committed are freed at the close; their memory stays readable.
 *
 * Locks: `lock` guards the fields that only slow paths use (sleeping, the list of units
 * kept for later, deaths).  `send_lock` and `piece_lock` guard the fields below them.
 * Order: `lock` before `piece_lock`; `send_lock` is never held with another.  Everything
 * else is atomic. */
#ifndef ROAR_ARENA_ARENA_H
#define ROAR_ARENA_ARENA_H

#include <pthread.h>
#include <stdatomic.h>

#include "arena/arena_api.h"
#include "arena/death.h"
#include "arena/protocol/failure.h"
#include "arena/protocol/protocol.h"

enum { HELD_FEW = 8 }; /* buffers of a unit that need no malloc */

/* A unit that this process holds; its index is that of the unit in the arena. */
struct held_unit {
	struct roar_arena_unit unit; /* first: the caller's pointer */
	_Atomic uint32_t refs; /* 0: not held */
	bool received; /* false: reserved */
	bool gone; /* the handle was closed before the unit was committed */
	uint32_t n_children;
	uint32_t *children; /* units that are committed with it */
	uint64_t flags; /* enum arena_unit_flags, if received */
	uint64_t message; /* number of the message it is a piece of */
	void *memory; /* private memory of a message that came in pieces */
	struct held_unit *next; /* in the list of units kept for later */
	struct roar_arena_buffer few[HELD_FEW];
};

struct roar_arena {
	struct arena_map map;
	int fd;
	int pid; /* of the process that made the handle */
	unsigned forks; /* fork count of the process when the handle was made */
	_Atomic int me; /* our place; -1: none */
	unsigned roles;
	unsigned share;
	_Atomic uint32_t refs; /* one for the handle, one for each held unit */
	_Atomic uint32_t n_gone; /* held units that are `gone` */
	_Atomic int64_t spin_ns;
	_Atomic uint64_t sequence; /* of the next commit */
	struct held_unit *hands; /* one for each place */

	pthread_mutex_t lock; /* guards n_sleeping, deaths, kept */
	unsigned n_sleeping[2]; /* threads that sleep, for each bell */
	struct deaths deaths;
	struct held_unit *kept; /* received while another producer's unit was
				 * asked for; oldest first */
	_Atomic uint32_t n_kept; /* written under the lock, read without */

	pthread_mutex_t send_lock; /* guards `sending` */
	pthread_cond_t send_turn; /* `sending` became false; CLOCK_MONOTONIC */
	bool sending; /* a thread sends a message in pieces; it alone uses
		       * given_up */
	uint64_t given_up; /* the last message that was not finished */
	pthread_mutex_t piece_lock; /* guards partials */
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

/* Adds `n` bytes, rounded up to ROAR_ARENA_ALIGN; true on overflow. */
static inline bool arena_add_aligned(uint64_t *sum, uint64_t n)
{
	return __builtin_add_overflow(n, (uint64_t)ROAR_ARENA_ALIGN - 1, &n) ||
	       __builtin_add_overflow(
		       *sum, n & ~(uint64_t)(ROAR_ARENA_ALIGN - 1), sum);
}

/* What a unit needs to know to be a piece of a message. */
struct piece_of {
	uint64_t message;
	uint64_t sequence; /* of the message; all its pieces have it */
	bool first;
};

/* As roar_arena_reserve().  `piece` is NULL unless the unit is part of a message. */
int arena_reserve(struct roar_arena *a, const struct roar_arena_part *parts,
		  size_t n_parts, size_t envelope_len,
		  const struct piece_of *piece, long long timeout_ns,
		  struct roar_arena_unit **ret);

/* The time at which the timeout ends, CLOCK_MONOTONIC; INT64_MAX if it never does. */
int64_t arena_deadline_ns(long long timeout_ns);

/* ---- held units (held_units.c) ---- */

/* Makes room for `n` buffers.  -ENOMEM. */
int held_unit_buffers(struct held_unit *h, size_t n);

/* Marks the unit as held and returns the caller's pointer to it. */
struct roar_arena_unit *held_unit_take(struct roar_arena *a, uint32_t index);

/* Marks it as not held.  The unit in the arena is left as it is. */
void held_unit_forget(struct held_unit *h);

/* The same in two steps, for a commit that may fail and give the unit back. */
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

/* A call that waits is a loop of attempts: the first few follow at once (spinning), the
 * next one comes after the bell was armed, and the others after each sleep.  The end of the
 * wait (shutdown, timeout, a death) is reported only after one more attempt, so that
 * everything committed before it is received. */
struct arena_wait {
	struct roar_arena *a;
	enum arena_bell bell;
	uint32_t from; /* producer whose units are wanted, or ROAR_ARENA_ANY */
	bool waits; /* the timeout is not 0 */
	bool armed;
	int end; /* error to return if the next attempt fails too; for a death,
		  * its sentence is in `failure` */
	char failure[256];
	int64_t deadline_ns; /* INT64_MAX: none */
	int64_t spin_until_ns; /* 0: spinning has not begun */
	uint32_t *word;
	uint32_t seen;
};

void arena_wait_begin(struct arena_wait *p, struct roar_arena *a,
		      enum arena_bell bell, long long timeout_ns);

/* After a failed attempt: 0 to try again, or -EAGAIN, -ETIMEDOUT, -EPIPE,
 * -ECONNRESET with a sentence. */
int arena_wait_next(struct arena_wait *p);
void arena_wait_end(struct arena_wait *p);

#endif
