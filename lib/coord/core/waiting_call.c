/* waiting_call.c - calls that wait for their last reply: found by their number, by their
 * connection, and by their deadline. */
#include "coord/core/state.h"

#include <assert.h>
#include <errno.h>

#include "base/macros.h"
#include "coord/members/members.h"

static void count(struct wait *w, int change)
{
	struct coord *c = w->job->c;

	if (w->kind->watch) {
		c->n_watchers += (uint32_t)change;
		w->job->n_watchers += (uint32_t)change;
	} else {
		c->n_waiting += (uint32_t)change;
		w->job->n_waiting += (uint32_t)change;
	}
}

static bool is_full(const struct request *q, const struct job *job,
		    const struct wait_kind *kind)
{
	const struct coord *c = q->c;

	if (kind->watch)
		return c->n_watchers >= c->limits.max_watchers ||
		       job->n_watchers >= job_limit(q, c->limits.max_watchers);
	return c->n_waiting >= c->limits.max_waiting ||
	       job->n_waiting >= job_limit(q, c->limits.max_waiting);
}

static void ring(struct coord *c, struct alarm *a)
{
	struct wait *w = container_of(a, struct wait, deadline);

	w->kind->expire(c, w);
}

static int add(const struct request *q, struct wait *w)
{
	struct coord *c = q->c;
	bool limited = q->deadline_ms != INT64_MAX;

	if (limited && timer_heap_reserve(&c->mono) < 0)
		return -ENOMEM;
	w->conn = conn_ensure(c, q->who->conn);
	if (q->who->conn && !w->conn)
		return -ENOMEM;
	w->call = q->call;
	if (map_set(&c->waits, &w->call, sizeof(w->call), w) < 0) {
		w->call = 0;
		if (w->conn)
			conn_tidy(c, w->conn);
		return -ENOMEM;
	}
	if (w->conn)
		list_add(&w->conn->waits, &w->in_conn);
	if (limited)
		timer_heap_set(&c->mono, &w->deadline.timer, q->deadline_ms);
	return 0;
}

int wait_add(const struct request *q, struct job *job, struct wait *w,
	     const struct wait_kind *kind)
{
	int r;

	assert(!w->call);
	if (is_full(q, job, kind)) {
		request_refuse(
			q, COORD_RESOURCE_EXHAUSTED,
			"too many calls wait at the coordinator (%u of job '%s'); no more are taken",
			kind->watch ? job->n_watchers : job->n_waiting,
			job->id);
		return -EAGAIN;
	}
	w->kind = kind;
	w->job = job;
	w->deadline.ring = ring;
	list_init(&w->in_conn);
	r = add(q, w);
	if (r < 0)
		request_refuse_change(q, r);
	else
		count(w, 1);
	return r;
}

void wait_remove(struct coord *c, struct wait *w)
{
	struct conn *conn = w->conn;

	if (!w->call)
		return;
	(void)map_remove(&c->waits, &w->call, sizeof(w->call));
	timer_heap_remove(&c->mono, &w->deadline.timer);
	list_remove(&w->in_conn);
	w->conn = NULL;
	w->call = 0;
	count(w, -1);
	if (conn)
		conn_tidy(c, conn);
}

/* Without memory it is not known if that answer is lost: the worker says so by itself,
 * with its generation or `again`. */
void wait_answered(struct worker *w, uint64_t call)
{
	struct map *all = &w->job->c->answered;

	if (w->answered_call)
		(void)map_remove(all, &w->answered_call, sizeof(call));
	w->answered_call = call;
	if (call && map_set(all, &w->answered_call, sizeof(call), w) < 0)
		w->answered_call = 0;
}

void coord_cancel(struct coord *c, struct coord_now now, uint64_t call)
{
	struct wait *w = map_get(&c->waits, &call, sizeof(call));
	struct worker *worker;

	coord_set_time(c, now);
	if (w) {
		w->kind->withdraw(c, w);
		return;
	}
	worker = map_get(&c->answered, &call, sizeof(call));
	if (worker)
		worker->answer_lost = true;
}
