/* loop.h - an event loop on epoll: descriptors, timers, and the end of a round.
 *
 * A round waits, calls `ready` for each ready descriptor, then the due timers, then
 * everything that was queued for the end of the round.  Output is written there, in one
 * system call, however much was queued in the round.
 *
 * A callback may add or remove anything, itself included.  The clock is read once a round:
 * loop_now_ms() is CLOCK_MONOTONIC, and timers use it.
 *
 * A loop belongs to one thread; the end of this file describes sharing. */
#ifndef NET_LOOP_H
#define NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/timer_heap.h"

struct loop;

/* A descriptor to wait for.  The owner holds the struct; the loop keeps a pointer to it. */
struct loop_fd {
	int fd;
	uint32_t events; /* EPOLLIN ... to wait for */
	void (*ready)(struct loop_fd *f, uint32_t events); /* EPOLLIN ... */
};

/* A timer, likewise; zeroed before its first use. */
struct loop_timer {
	struct timer timer;
	void (*due)(struct loop_timer *t);
};

/* At the end of the round, once; likewise. */
struct loop_later {
	struct loop_later *next;
	struct loop_later **link; /* what points here; NULL: not queued */
	void (*call)(struct loop_later *l);
};

int loop_new(struct loop **ret);
void loop_free(struct loop *l);

int loop_add(struct loop *l, struct loop_fd *f, uint32_t events);
int loop_change(struct loop *l, struct loop_fd *f, uint32_t events);
void loop_remove(struct loop *l, struct loop_fd *f); /* before close() */

/* Sets the timer, or changes its time.  -ENOMEM: unchanged. */
int loop_timer_set(struct loop *l, struct loop_timer *t, int64_t due_ms);
void loop_timer_clear(struct loop *l, struct loop_timer *t);

static inline bool loop_timer_is_set(const struct loop_timer *t)
{
	return t->timer.place != 0;
}

/* Queues a call for the end of the round, in order.  A call that is queued at the end of a
 * round runs in the same round: a callback that queues itself each time keeps the loop from
 * waiting. */
void loop_later(struct loop *l, struct loop_later *later);
void loop_later_clear(struct loop *l, struct loop_later *later);

int64_t loop_now_ms(const struct loop *l);
/* Wall-clock time, read at the same moment. */
int64_t loop_wall_ms(const struct loop *l);

/* One round; waits at most `timeout_ms` (-1: without limit).  -errno when epoll fails. */
int loop_round(struct loop *l, int timeout_ms);
/* Rounds until loop_stop(). */
int loop_run(struct loop *l);
void loop_stop(struct loop *l);

/* ---- for several threads ----
 *
 * A loop has no lock.  Threads that share a loop protect it with a lock of their own and
 * split a round: loop_wait() is the only function that may be called without the lock.
 * Another thread may remove a descriptor between loop_wait() and loop_dispatch().  Its
 * loop_fd must remain valid, and `ready` must tolerate the late call. */

enum { LOOP_EVENTS = 256 }; /* of one round */

struct loop_events {
	int n;
	struct epoll_event list[LOOP_EVENTS];
};

/* When the next timer is due; INT64_MAX: none is set.  A time in the past if a call is
 * queued for the end of the round. */
int64_t loop_due_ms(const struct loop *l);
/* Waits until `until_ms` for descriptors to be ready.  -errno when epoll fails. */
int loop_wait(const struct loop *l, int64_t until_ms, struct loop_events *ret);
/* The rest of the round. */
void loop_dispatch(struct loop *l, const struct loop_events *events);
/* Reads the clock again, for work between two rounds. */
void loop_refresh(struct loop *l);
/* A descriptor that is readable when a round has work other than timers. */
int loop_poll_fd(const struct loop *l);
/* In a child after fork(): the loop can only be freed. */
void loop_abandon(struct loop *l);

#endif
