/* loop.h - an event loop on epoll: descriptors, timers, and the end of a round.
 *
 * A round waits, calls `ready` for each descriptor that is ready, then the timers that are
 * due, then everything that was queued for the end of the round.  Output is written
 * there, once, however much was queued in the round.
 *
 * A callback may add or remove anything, itself included.  The clock is read once a round:
 * loop_now_ms() is CLOCK_MONOTONIC, and timers use it.
 *
 * A loop belongs to one thread; see the end of this file for several. */
#ifndef NET_LOOP_H
#define NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/timer_heap.h"

struct loop;

/* A descriptor to wait for.  Held by its owner; the loop keeps a pointer to it. */
struct loop_fd {
	int fd;
	uint32_t events; /* as asked for */
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

/* Sets it, or moves one that is set.  -ENOMEM: it is as it was. */
int loop_timer_set(struct loop *l, struct loop_timer *t, int64_t due_ms);
void loop_timer_clear(struct loop *l, struct loop_timer *t);

static inline bool loop_timer_is_set(const struct loop_timer *t)
{
	return t->timer.place != 0;
}

/* Queues a call for the end of the round, in order.  What is queued at the end of a round is
 * called in the same one: a callback that queues itself each time keeps the loop from
 * waiting. */
void loop_later(struct loop *l, struct loop_later *later);
void loop_later_clear(struct loop *l, struct loop_later *later);

int64_t loop_now_ms(const struct loop *l);
/* Of the wall clock, read in the same moment. */
int64_t loop_wall_ms(const struct loop *l);

/* One round; waits at most `timeout_ms` (-1: without limit).  -errno when epoll fails. */
int loop_round(struct loop *l, int timeout_ms);
/* Rounds until loop_stop(). */
int loop_run(struct loop *l);
void loop_stop(struct loop *l);

/* ---- for several threads ----
 *
 * A loop has no lock.  Threads that share one guard it by a lock of their own, and take a round
 * apart: loop_wait() is the one function that may be called without the lock.  An event that
 * was collected by it may be that of a descriptor which somebody removed before
 * loop_dispatch(): its loop_fd must still be there, and `ready` must not mind. */

enum { LOOP_EVENTS = 256 }; /* of one round */

struct loop_events {
	int n;
	struct epoll_event list[LOOP_EVENTS];
};

/* When the next timer is due; INT64_MAX: none is set.  A time that is over when something
 * waits for the end of the round. */
int64_t loop_due_ms(const struct loop *l);
/* Waits until then for descriptors to be ready.  -errno when epoll fails. */
int loop_wait(const struct loop *l, int64_t until_ms, struct loop_events *ret);
/* The rest of the round. */
void loop_dispatch(struct loop *l, const struct loop_events *events);
/* Reads the clock again, for what is done between two rounds. */
void loop_refresh(struct loop *l);
/* Is readable when a round would find something to do, timers apart. */
int loop_poll_fd(const struct loop *l);
/* In a child after fork(): the loop can only be freed. */
void loop_abandon(struct loop *l);

#endif
