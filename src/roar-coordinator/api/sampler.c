/* sampler.c - what was counted in each second, for charts. */
#include "server.h"

#include <string.h>

#include "base/macros.h"

enum { SECOND_MS = 1000 };

static void add_histogram(struct histogram *sum, const struct histogram *h)
{
	for (unsigned i = 0; i <= HISTOGRAM_N; i++)
		sum->counts[i] += h->counts[i];
	sum->n += h->n;
	sum->sum_us += h->sum_us;
}

static void add_method(const struct server *s, const char *path,
		       struct histogram *sum)
{
	const struct rpc_method *m = methods_by_path(&s->methods, path,
						     strlen(path));

	if (m)
		add_histogram(sum, &((const struct method *)m->data)->duration);
}

static void take_totals(struct server *s, struct history_totals *ret)
{
	struct record_log_counts log;

	journal_count(s, &log);
	*ret = (struct history_totals){
		.requests = s->n_requests,
		.records = log.records,
		.checkpoint_bytes = s->checkpoint_bytes,
		.barrier = s->barrier_wait,
		.skew = s->barrier_skew,
		.sync = s->log_sync,
	};
	add_method(s, "/coordinator.Coordinator/Heartbeat", &ret->heartbeat);
	add_method(s, "/coordinator.Coordinator/StreamHeartbeats",
		   &ret->heartbeat);
}

static void on_second(struct loop_timer *t)
{
	struct server *s = container_of(t, struct server, history_timer);
	struct history_totals totals;

	journal_look_for_room(s);
	take_totals(s, &totals);
	history_add(&s->history, loop_now_ms(s->loop), loop_wall_ms(s->loop),
		    &totals);
	(void)loop_timer_set(s->loop, t, loop_now_ms(s->loop) + SECOND_MS);
}

void sampler_begin(struct server *s)
{
	s->history_timer.due = on_second;
	on_second(&s->history_timer);
}

/* There may be no loop, where it never began. */
void sampler_end(struct server *s)
{
	if (loop_timer_is_set(&s->history_timer))
		loop_timer_clear(s->loop, &s->history_timer);
}
