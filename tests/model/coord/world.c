/* world.c - time goes on, things happen */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim.h"

enum { MAX_TICKS = 10000 }; /* at one moment */

void sim_fail(struct sim *s, const char *fmt, ...)
{
	va_list ap;

	if (s->failed)
		return;
	s->failed = true;
	va_start(ap, fmt);
	(void)vsnprintf(s->failure, sizeof(s->failure), fmt, ap);
	va_end(ap);
	sim_trace(s, "WRONG: %s", s->failure);
}

void sim_trace(struct sim *s, const char *fmt, ...)
{
	va_list ap;

	if (!s->trace)
		return;
	(void)printf("%8" PRId64 "  ", s->now);
	va_start(ap, fmt);
	(void)vprintf(fmt, ap);
	va_end(ap);
	(void)putchar('\n');
}

void sim_after(struct sim *s, int64_t ms,
	       void (*happen)(struct sim *s, void *what, uint64_t n),
	       void *what, uint64_t n)
{
	queue_add(&s->queue, (struct event){ .at = s->now + ms,
					     .happen = happen,
					     .what = what,
					     .n = n });
}

/* ---- what the plan holds besides workers ---- */

static void administer(struct sim *s, const struct item *item, uint64_t n)
{
	static const uint16_t methods[] = { [ITEM_CONFIGURE] = 12,
					    [ITEM_COMMAND] = 13,
					    [ITEM_DRAIN] = 14,
					    [ITEM_LEAVE] = 15 };
	struct ask ask = { .call = ++s->last_call,
			   .deadline = INT64_MAX,
			   .job = item->job,
			   .method = methods[item->kind],
			   .name = (uint32_t)n,
			   .item = item };

	if (item->kind != ITEM_CONFIGURE)
		ask.who = s->plan->items[item->who].who;
	sim_trace(s, "administrator: method %u, job j%u, w%u", ask.method,
		  ask.job, ask.who);
	server_ask(s, &ask);
}

/* Whether it has outlived its time, before anything else could notice. */
static void look_at_key(struct sim *s, const struct item *item)
{
	struct ask ask = { .call = ++s->last_call,
			   .deadline = INT64_MAX,
			   .job = item->job,
			   .method = 17,
			   .name = 100 + s->plan->items[item->who].who };

	server_ask(s, &ask);
}

static void end_trouble(struct sim *s, void *what, uint64_t n)
{
	(void)what;
	if (n == ITEM_FULL)
		s->server.full = false;
	else
		s->server.sync_ms = 5;
	sim_trace(s, "the disk is well again");
}

static void befall(struct sim *s, void *what, uint64_t n)
{
	const struct item *item = &s->plan->items[n];

	(void)what;
	switch (item->kind) {
	case ITEM_CRASH:
		server_crash(s, item->len);
		break;
	case ITEM_SNAPSHOT:
		sim_trace(s, "snapshot");
		server_snapshot(s);
		break;
	case ITEM_FULL:
		sim_trace(s, "the disk is full");
		s->server.full = true;
		sim_after(s, item->len, end_trouble, NULL, ITEM_FULL);
		break;
	case ITEM_SLOW:
		sim_trace(s, "the disk is slow");
		s->server.sync_ms = item->len;
		sim_after(s, item->len, end_trouble, NULL, ITEM_SLOW);
		break;
	case ITEM_WALL:
		sim_trace(s, "the wall clock jumps by %" PRId64 " ms",
			  item->len);
		s->wall += item->len;
		look_at_key(s, item);
		break;
	case ITEM_CONFIGURE:
	case ITEM_COMMAND:
	case ITEM_DRAIN:
	case ITEM_LEAVE:
		administer(s, item, n);
		break;
	default:
		client_fault(s, item);
	}
}

/* ---- the loop ---- */

void sim_pass(struct sim *s, int64_t to)
{
	s->wall += to - s->now;
	if (s->server.c)
		s->service += to - s->now;
	s->now = to;
}

/* The state machine's own alarms come before what happens at the same moment. */
static bool step(struct sim *s)
{
	int64_t due = server_due(s);
	struct event e;

	if (due < s->now)
		due = s->now;
	if (due != INT64_MAX && (!s->queue.n || due <= s->queue.heap[0].at)) {
		sim_pass(s, due);
		server_tick(s);
		return true;
	}
	if (!queue_take(&s->queue, &e))
		return false;
	sim_pass(s, e.at);
	e.happen(s, e.what, e.n);
	free(e.what);
	return true;
}

static void begin(struct sim *s)
{
	s->wall = 1700000000000;
	s->model = model_new(s);
	server_start(s);
	for (size_t i = 0; i < s->plan->n_items; i++) {
		const struct item *item = &s->plan->items[i];

		if (s->kept[i] && item->kind > ITEM_STEP)
			sim_after(s, item->at, befall, NULL, i);
	}
	clients_start(s);
}

static void finish(struct sim *s)
{
	server_stop(s);
	clients_stop(s);
	queue_release(&s->queue);
	model_free(s->model);
	s->model = NULL;
}

bool sim_run(struct sim *s, const struct plan *p, const bool *kept, bool trace)
{
	int64_t end = p->end * 2;
	int64_t last = -1;
	int at_once = 0;

	*s = (struct sim){ .plan = p, .kept = kept, .trace = trace };
	begin(s);
	while (!s->failed && s->now < end && step(s)) {
		s->counts.events++;
		at_once = s->now == last ? at_once + 1 : 0;
		last = s->now;
		if (at_once > MAX_TICKS + (int)p->n_items * 10)
			sim_fail(s,
				 "the state machine wants to be called again "
				 "and again");
	}
	if (!s->failed) {
		server_compare(s);
		model_end(s);
	}
	finish(s);
	return !s->failed;
}
