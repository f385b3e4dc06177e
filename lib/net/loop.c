/* loop.c - one epoll instance, level-triggered, and what happens between two waits.
 *
 * The kernel reports up to N_EVENTS descriptors a wait.  Whoever is removed while
 * they are handled may be among those still to come, so its entry is struck out. */
#include "net/loop.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/macros.h"

enum {
	N_EVENTS = 256,
	NS_PER_MS = 1000000,
};

struct loop {
	int epoll;
	bool stopped;
	int64_t now_ms;
	int64_t wall_ms;
	struct timer_heap timers;
	struct loop_later *later; /* in the order they asked */
	struct loop_later **later_end;
	int n_events; /* of this round */
	int at; /* the one being handled */
	struct epoll_event events[N_EVENTS];
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
	for (int i = l->at; i < l->n_events; i++)
		if (l->events[i].data.ptr == f)
			l->events[i].data.ptr = NULL;
}

int loop_timer_set(struct loop *l, struct loop_timer *t, int64_t due_ms)
{
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

/* How long the kernel may wait.  The clock is asked again: the round that lies behind
 * may have taken long, and the first timer must not be late by as much. */
static int wait_ms(const struct loop *l, int timeout_ms)
{
	const struct timer *first = timer_heap_first(&l->timers);

	if (!first)
		return timeout_ms;

	int64_t left = first->due_ms - clock_mono_ns() / NS_PER_MS;

	if (left < 0)
		left = 0;
	if (left > INT_MAX)
		left = INT_MAX;
	return timeout_ms >= 0 && timeout_ms < left ? timeout_ms : (int)left;
}

static int wait_for_events(struct loop *l, int timeout_ms)
{
	int n = epoll_wait(l->epoll, l->events, N_EVENTS,
			   wait_ms(l, timeout_ms));

	if (n < 0 && errno != EINTR)
		return -errno;
	l->n_events = n > 0 ? n : 0;
	read_clocks(l);
	return 0;
}

static void call_ready(struct loop *l)
{
	for (l->at = 0; l->at < l->n_events; l->at++) {
		struct loop_fd *f = l->events[l->at].data.ptr;

		if (f)
			f->ready(f, l->events[l->at].events);
	}
	l->n_events = 0;
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

int loop_round(struct loop *l, int timeout_ms)
{
	int r = wait_for_events(l, l->later ? 0 : timeout_ms);

	if (r < 0)
		return r;
	call_ready(l);
	call_due(l);
	call_later(l);
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
