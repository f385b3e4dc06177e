/* coord.c - the whole: its life, requests to their handlers, time. */
#include "coord/core/state.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "coord/data/data.h"

enum {
	/* A tick this much after its alarm means that the coordinator itself was paused. */
	LATE_MS = 250,
};

static const struct coord_limits limits_default = {
	.max_jobs = 1024,
	.max_workers = 32768,
	.max_meetings = 1024,
	.max_keys = 100000,
	.max_key_bytes = 256 << 20,
	.max_waiting = 65536,
	.max_watchers = 65536,
};

static void set_limits(struct coord_limits *to, const struct coord_limits *from)
{
	*to = limits_default;
	if (!from)
		return;
#define GIVEN(field)     \
	if (from->field) \
	to->field = from->field
	GIVEN(max_jobs);
	GIVEN(max_workers);
	GIVEN(max_meetings);
	GIVEN(max_keys);
	GIVEN(max_key_bytes);
	GIVEN(max_waiting);
	GIVEN(max_watchers);
#undef GIVEN
}

int coord_new(const struct coord_host *host, void *host_data,
	      const struct coord_limits *limits, struct coord **ret)
{
	struct coord *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->host = *host;
	c->host_data = host_data;
	set_limits(&c->limits, limits);
	list_init(&c->job_list);
	if (service_time_init(c) < 0) {
		free(c);
		return -ENOMEM;
	}
	*ret = c;
	return 0;
}

/* Calls first: they hold on to what they wait for. */
static void withdraw_all(struct coord *c)
{
	size_t pos = 0;
	struct wait *w;

	while ((w = map_next(&c->waits, &pos))) {
		w->kind->withdraw(c, w);
		pos = 0;
	}
}

void coord_free(struct coord *c)
{
	if (!c)
		return;
	c->ended = NULL;
	withdraw_all(c);
	LIST_EACH(it, after, &c->job_list)
		job_free(container_of(it, struct job, in_jobs));
	map_release(&c->jobs);
	map_release(&c->conns);
	map_release(&c->waits);
	map_release(&c->answered);
	timer_heap_release(&c->mono);
	timer_heap_release(&c->service);
	free(c);
}

/* ---- time ---- */

/* A coordinator that was stopped, swapped out or on a busy machine heard nobody: with
 * what was sent meanwhile still unread, all would be dead at once.  So the clock of
 * silence stands still from when it should have run, and service time with it: keys that
 * workers renew would be gone as well. */
static void excuse_all(struct coord *c, int64_t ms)
{
	LIST_EACH(it, after, &c->job_list) {
		struct job *job = container_of(it, struct job, in_jobs);

		for (size_t i = 0; i < job->n_workers; i++)
			worker_excuse(job->by_rank[i], ms);
		lendings_excuse(job, ms);
	}
}

void coord_set_time(struct coord *c, struct coord_now now)
{
	int64_t ran_ms = c->now.mono_ms, due_ms = coord_due_ms(c);
	int64_t late_ms = now.mono_ms - (ran_ms > due_ms ? ran_ms : due_ms);

	c->now = now;
	if (!c->time_ms) {
		service_time_start(c);
		return;
	}
	if (late_ms > LATE_MS)
		excuse_all(c, late_ms);
	else
		late_ms = 0;
	c->time_ms += now.mono_ms - ran_ms - late_ms;
}

/* ---- requests ---- */

#define HANDLER(number, id, handler, ...) [number] = method_##handler,
static handler_fn *const handlers[] = { COORD_METHODS(HANDLER) };

void coord_request(struct coord *c, struct coord_now now,
		   const struct coord_caller *who,
		   const struct coord_method *method, uint64_t call,
		   int64_t deadline_ms, const ProtobufCMessage *request)
{
	struct request q = {
		.c = c,
		.who = who,
		.call = call,
		.deadline_ms = deadline_ms,
		.good = method->kind == COORD_BIDI ? COORD_MORE : COORD_OK,
	};

	assert(call != 0 && !c->replaying);
	assert(request->descriptor == method->request);
	coord_set_time(c, now);
	if (method->admin && who->job && !who->admin) {
		request_refuse(
			&q, COORD_PERMISSION_DENIED,
			"the token of job '%s' does not allow this; the administrator's does",
			who->job);
		return;
	}
	handlers[method->number](&q, request);
	tables_settle(c);
}

void coord_finish(struct coord *c, struct coord_now now, uint64_t call)
{
	coord_set_time(c, now);
	call_reply(c, call, COORD_OK, NULL, NULL);
}

int64_t coord_due_ms(const struct coord *c)
{
	int64_t mono = timer_heap_due_ms(&c->mono);
	int64_t service = timer_heap_due_ms(&c->service);

	if (service == INT64_MAX)
		return mono;
	service = c->now.mono_ms +
		  (service > c->time_ms ? service - c->time_ms : 0);
	return service < mono ? service : mono;
}

/* Each moves its alarm to a later time or takes it out, so this ends. */
static void ring_until(struct coord *c, struct timer_heap *all, int64_t now_ms)
{
	while (timer_heap_due_ms(all) <= now_ms) {
		struct alarm *a = container_of(timer_heap_first(all),
					       struct alarm, timer);

		a->ring(c, a);
	}
}

void coord_tick(struct coord *c, struct coord_now now)
{
	coord_set_time(c, now);
	ring_until(c, &c->service, c->time_ms);
	ring_until(c, &c->mono, now.mono_ms);
	tables_settle(c);
}

void coord_set_fencing_token(struct coord *c, uint64_t token)
{
	c->fencing_token = token;
}

/* ---- looking in ---- */

void coord_count(const struct coord *c, struct coord_counts *ret)
{
	*ret = (struct coord_counts){
		.n_jobs = c->n_jobs,
		.n_workers = c->n_workers,
		.n_alive = c->n_workers - c->n_suspect - c->n_dead,
		.n_suspect = c->n_suspect,
		.n_dead = c->n_dead,
		.n_waiting = c->n_waiting,
		.n_watchers = c->n_watchers,
		.key_bytes = c->key_bytes,
		.n_released = c->n_released,
		.n_failed = c->n_failed,
		.n_committed = c->n_committed,
		.n_saves_failed = c->n_saves_failed,
	};
	LIST_EACH(it, after, &c->job_list) {
		const struct job *job = container_of(it, struct job, in_jobs);

		ret->n_meetings += (uint32_t)job->n_rounds;
		ret->n_keys += job->n_keys;
	}
}

void coord_on_meeting(struct coord *c,
		      void (*ended)(void *data, int64_t wait_ms,
				    int64_t skew_ms, bool released),
		      void *data)
{
	c->ended = ended;
	c->ended_data = data;
}
