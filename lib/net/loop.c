/* loop.c - one epoll instance, level-triggered, and what happens between two waits.
 *
 * The kernel reports up to LOOP_EVENTS descriptors a wait.  Whoever is removed while
 * they are handled may be among those still to come, so its entry is struck out. */
#include "net/loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/macros.h"

enum { NS_PER_MS = 1000000 };

struct loop {
	int epoll;
	bool stopped;
	int64_t now_ms;
	int64_t wall_ms;
	struct timer_heap timers;
	struct loop_later *later; /* in the order they asked */
	struct loop_later **later_end;
	struct loop_events events; /* of this round */
	int at; /* the one being handled */
};

DEFINE_CLEANUP(struct loop *, loop_free)

static void read_clocks(struct loop *l)
{
	l->now_ms = clock_mono_ns() / NS_PER_MS;
	l->wall_ms = clock_now_ns() / NS_PER_MS;
}

int loop_new(struct loop **ret)
{
	CLEANUP(loop_freep) struct loop *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->later_end = &l->later;
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0)
		return -errno;
	read_clocks(l);

	*ret = TAKE_PTR(l);
	return 0;
}

void loop_abandon(struct loop *l)
{
	closep(&l->epoll);
	l->epoll = -1;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	closep(&l->epoll);
	timer_heap_release(&l->timers);
	free(l);
}

static int control(struct loop *l, int op, struct loop_fd *f, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = f };

	if (epoll_ctl(l->epoll, op, f->fd, &e) < 0)
		return -errno;
	f->events = events;
	return 0;
}

int loop_add(struct loop *l, struct loop_fd *f, uint32_t events)
{
	assert(f->ready);
	return control(l, EPOLL_CTL_ADD, f, events);
}

int loop_change(struct loop *l, struct loop_fd *f, uint32_t events)
{
	if (f->events == events)
		return 0;
	return control(l, EPOLL_CTL_MOD, f, events);
}

void loop_remove(struct loop *l, struct loop_fd *f)
{
	(void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, f->fd, NULL);
	for (int i = l->at; i < l->events.n; i++)
		if (l->events.list[i].data.ptr == f)
			l->events.list[i].data.ptr = NULL;
}

int loop_timer_set(struct loop *l, struct loop_timer *t, int64_t due_ms)
{
	assert(t->due);
	if (!loop_timer_is_set(t) && timer_heap_reserve(&l->timers) < 0)
		return -ENOMEM;
	timer_heap_set(&l->timers, &t->timer, due_ms);
	return 0;
}

void loop_timer_clear(struct loop *l, struct loop_timer *t)
{
	timer_heap_remove(&l->timers, &t->timer);
}

void loop_later(struct loop *l, struct loop_later *later)
{
	assert(later->call);
	if (later->link)
		return;
	later->next = NULL;
	later->link = l->later_end;
	*l->later_end = later;
	l->later_end = &later->next;
}

void loop_later_clear(struct loop *l, struct loop_later *later)
{
	if (!later->link)
		return;
	*later->link = later->next;
	if (later->next)
		later->next->link = later->link;
	else
		l->later_end = later->link;
	later->link = NULL;
}

int64_t loop_now_ms(const struct loop *l)
{
	return l->now_ms;
}

int64_t loop_wall_ms(const struct loop *l)
{
	return l->wall_ms;
}

int64_t loop_due_ms(const struct loop *l)
{
	return l->later ? l->now_ms : timer_heap_due_ms(&l->timers);
}

int loop_poll_fd(const struct loop *l)
{
	return l->epoll;
}

int loop_wait(const struct loop *l, int64_t until_ms, struct loop_events *ret)
{
	int64_t left = until_ms - clock_mono_ns() / NS_PER_MS;
	int ms = until_ms == INT64_MAX ? -1 :
		 left > INT_MAX	       ? INT_MAX :
		 left < 0	       ? 0 :
					 (int)left;
	int n = epoll_wait(l->epoll, ret->list, LOOP_EVENTS, ms);

	ret->n = n > 0 ? n : 0;
	return n < 0 && errno != EINTR ? -errno : 0;
}

static void call_ready(struct loop *l)
{
	for (l->at = 0; l->at < l->events.n; l->at++) {
		struct loop_fd *f = l->events.list[l->at].data.ptr;

		if (f)
			f->ready(f, l->events.list[l->at].events);
	}
	l->events.n = 0;
}

/* Those that are due now.  One that is set again, for a time that is over, is due in the
 * next round: a round always ends. */
static void call_due(struct loop *l)
{
	for (size_t left = l->timers.count;
	     left > 0 && timer_heap_due_ms(&l->timers) <= l->now_ms; left--) {
		struct loop_timer *t = container_of(
			timer_heap_first(&l->timers), struct loop_timer, timer);

		timer_heap_remove(&l->timers, &t->timer);
		t->due(t);
	}
}

static void call_later(struct loop *l)
{
	while (l->later) {
		struct loop_later *first = l->later;

		loop_later_clear(l, first);
		first->call(first);
	}
}

static void dispatch(struct loop *l)
{
	read_clocks(l);
	call_ready(l);
	call_due(l);
	call_later(l);
}

void loop_dispatch(struct loop *l, const struct loop_events *events)
{
	assert(l->events.n == 0); /* not from within a round */
	l->events.n = events->n;
	memcpy(l->events.list, events->list,
	       (size_t)events->n * sizeof(events->list[0]));
	dispatch(l);
}

void loop_refresh(struct loop *l)
{
	read_clocks(l);
}

/* The clock is asked again for the wait: the round before it may have taken long, and the
 * first timer must not be late by as much. */
int loop_round(struct loop *l, int timeout_ms)
{
	int64_t until_ms = loop_due_ms(l);
	int r;

	if (timeout_ms >= 0 && until_ms > l->now_ms) {
		int64_t limit_ms = clock_mono_ns() / NS_PER_MS + timeout_ms;

		until_ms = until_ms < limit_ms ? until_ms : limit_ms;
	}
	r = loop_wait(l, until_ms, &l->events);
	if (r < 0)
		return r;
	dispatch(l);
	return 0;
}

int loop_run(struct loop *l)
{
	int r = 0;

	while (!l->stopped && r == 0)
		r = loop_round(l, -1);
	l->stopped = false;
	return r;
}

void loop_stop(struct loop *l)
{
	l->stopped = true;
}
