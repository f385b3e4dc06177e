/* api.c - workers and barriers as JSON.
 *
 * What there is of jobs is asked from the state machine by its own calls, so that it
 * shows nobody more than those would.  Lists go over all jobs that may be seen, in the
 * order of their names, and come in pages: `limit` items, with "JOB:RANK" of the
 * last one as `after` of the next (a header, Link, has it ready). */
#include "api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "base/vec.h"
#include "names.h"

enum {
	LIMIT = 1000, /* items of a page, unless asked for fewer or more */
	MAX_LIMIT = 10000,
};

/* The answer of a look that did not go well. */
static void fail(struct http_reply *reply, const struct look *l)
{
	api_error(reply,
		  l->status == COORD_NOT_FOUND	       ? 404 :
		  l->status == COORD_PERMISSION_DENIED ? 403 :
		  l->status == COORD_INVALID_ARGUMENT  ? 400 :
							 503,
		  l->sentence);
}

/* ---- jobs ---- */

struct jobs {
	struct pool pool;
	char **names;
	size_t n, cap;
	bool failed;
};

static void jobs_release(struct jobs *jobs)
{
	free(jobs->names);
	pool_release(&jobs->pool);
}

static void take_jobs(struct look *l, const ProtobufCMessage *message)
{
	const Roar__ListJobsReply *m = (const Roar__ListJobsReply *)message;
	struct jobs *jobs = l->data;

	for (size_t i = 0; i < m->n_jobs; i++) {
		char *name = pool_strdup(&jobs->pool, m->jobs[i]->job_id);
		char **place = name ? VEC_PUSH(jobs->names, jobs->n,
					       jobs->cap) :
				      NULL;

		if (!place) {
			jobs->failed = true;
			return;
		}
		*place = name;
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The jobs that may be seen, by name. */
static int find_jobs(struct server *s, const struct scope *scope,
		     struct jobs *jobs, struct http_reply *reply)
{
	Roar__ListJobsRequest request = ROAR__LIST_JOBS_REQUEST__INIT;
	struct look l = { .reply = take_jobs, .data = jobs };

	answer_look(s, scope, api_method("/roar.Control/ListJobs"),
		    &request.base, &l);
	if (l.status != COORD_OK || jobs->failed) {
		fail(reply, &l);
		return -EIO;
	}
	if (jobs->n)
		qsort(jobs->names, jobs->n, sizeof(*jobs->names), by_name);
	return 0;
}

/* ---- pages ---- */

struct page {
	struct json j;
	int64_t limit; /* items it may have */
	int64_t left; /* that may still come */
	const char *after_job; /* "" from the start */
	size_t after_job_len;
	int32_t after_rank;
	const char *job; /* whose items come now */
	int32_t last_rank;
	int64_t now_ms; /* of the wall clock */
	bool more;
};

static int parse_int(const char *text, int64_t min, int64_t max, int64_t *ret)
{
	char *end = NULL;
	long long n;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (errno || end == text || *end || n < min || n > max)
		return -EINVAL;
	*ret = n;
	return 0;
}

static int parse_page(const struct http_request *request, struct page *p)
{
	const char *limit = http_query(request, "limit");
	const char *after = http_query(request, "after");
	const char *colon = after ? strrchr(after, ':') : NULL;
	int64_t rank = 0;

	p->limit = LIMIT;
	p->after_job = "";
	if (limit && parse_int(limit, 1, MAX_LIMIT, &p->limit) < 0)
		return -EINVAL;
	p->left = p->limit;
	if (!after)
		return 0;
	if (!colon || parse_int(colon + 1, 0, INT32_MAX, &rank) < 0 ||
	    !name_is_good(after, (size_t)(colon - after)))
		return -EINVAL;
	p->after_job = after;
	p->after_job_len = (size_t)(colon - after);
	p->after_rank = (int32_t)rank;
	return 0;
}

/* < 0: the job was in an earlier page; 0: a part of it was; > 0: nothing of it. */
static int compare_job(const struct page *p, const char *job)
{
	int c = strncmp(job, p->after_job, p->after_job_len);

	return c ? c : job[p->after_job_len] ? 1 : p->after_job_len ? 0 : 1;
}

/* The same question for what comes next. */
static void add_link(const struct page *p, const struct http_request *request,
		     struct http_reply *reply)
{
	const char *job = http_query(request, "job");

	if (!p->more || !p->job)
		return;
	str_addf(&reply->link, "<%s?after=%s:%d&limit=%lld", request->path,
		 p->job, p->last_rank, (long long)p->limit);
	if (job && *job)
		str_addf(&reply->link, "&job=%s", job);
	str_adds(&reply->link, ">; rel=\"next\"");
}

/* ---- workers ---- */

static const char *state_name(const Roar__WorkerView *w)
{
	static const char *const names[] = { "alive", "suspect", "dead",
					     "draining", "gone" };

	return (unsigned)w->state < 5 ? names[w->state] : "unknown";
}

/* In the four words that dashboards know. */
static const char *status_name(const Roar__WorkerView *w)
{
	if (w->state == ROAR__WORKER_VIEW__STATE__DEAD ||
	    (w->status &&
	     w->status->state == COORDINATOR__WORKER_STATUS__STATE__ERROR))
		return "failed";
	if (w->state == ROAR__WORKER_VIEW__STATE__SUSPECT)
		return "unknown";
	if (!w->status ||
	    w->status->state == COORDINATOR__WORKER_STATUS__STATE__UNKNOWN ||
	    w->status->state == COORDINATOR__WORKER_STATUS__STATE__IDLE)
		return "idle";
	return "active";
}

static void write_worker(struct page *p, const Roar__WorkerView *w)
{
	const Coordinator__WorkerStatus *status = w->status;
	struct json *j = &p->j;

	json_object(j);
	api_add_string(j, "id", w->worker_id);
	api_add_string(j, "ip", w->hostname);
	api_add_int(j, "port", w->port);
	api_add_string(j, "status", status_name(w));
	api_add_int(j, "gpu_count", w->gpu_count);
	api_add_time(j, "last_heartbeat", p->now_ms - w->heartbeat_age_ms);
	/* Who got which shard is not kept. */
	json_key(j, "assigned_shards");
	json_null(j);
	api_add_int(j, "current_epoch", status ? status->current_epoch : 0);
	api_add_int(j, "current_step", status ? status->current_step : 0);
	api_add_string(j, "current_task", status ? status->current_task : "");
	api_add_string(j, "job", p->job);
	api_add_int(j, "rank", w->rank);
	api_add_string(j, "state", state_name(w));
	api_add_int(j, "incarnation", (int64_t)w->incarnation);
	api_add_int(j, "heartbeat_age_ms", w->heartbeat_age_ms);
	api_add_int(j, "memory_bytes", w->memory_bytes);
	api_add_time(j, "registered_at", w->registered_ms);
	api_add_string(j, "reason", w->reason);
	json_end(j);
}

static void write_workers(struct look *l, const ProtobufCMessage *message)
{
	const Roar__ListWorkersReply *m = (const Roar__ListWorkersReply *)
		message;
	struct page *p = l->data;

	for (size_t i = 0; i < m->n_workers; i++) {
		write_worker(p, m->workers[i]);
		p->last_rank = m->workers[i]->rank;
		p->left--;
	}
	p->more = m->more;
}

/* Workers of one job, as many as there is room for. */
static void add_workers(struct server *s, const struct scope *scope,
			struct page *p, char *job)
{
	Roar__ListWorkersRequest request = ROAR__LIST_WORKERS_REQUEST__INIT;
	struct look l = { .reply = write_workers, .data = p };
	int order = compare_job(p, job);

	if (order < 0)
		return;
	request.job_id = job;
	request.limit = (int32_t)p->left;
	request.from_start = order > 0;
	request.after_rank = p->after_rank;
	p->job = job;
	answer_look(s, scope, api_method("/roar.Control/ListWorkers"),
		    &request.base, &l);
}

void api_workers(struct server *s, const struct scope *scope,
		 const struct http_request *request, struct http_reply *reply)
{
	CLEANUP(jobs_release) struct jobs jobs = { 0 };
	struct page p = { .now_ms = loop_wall_ms(s->loop) };

	if (parse_page(request, &p) < 0) {
		api_error(reply, 400,
			  "limit is 1 to 10000, and after is JOB:RANK");
		return;
	}
	if (find_jobs(s, scope, &jobs, reply) < 0)
		return;
	p.j = json_writer(&reply->body, false);
	json_array(&p.j);
	for (size_t i = 0; i < jobs.n && !p.more; i++) {
		/* What is left is no job's last page. */
		if (p.left == 0)
			p.more = true;
		else
			add_workers(s, scope, &p, jobs.names[i]);
	}
	json_end(&p.j);
	str_addc(&reply->body, '\n');
	add_link(&p, request, reply);
}

/* ---- barriers ---- */

static void write_barrier(struct page *p, const Roar__BarrierView *b)
{
	static const char *const kinds[] = { "barrier", "gather", "vote" };
	struct json *j = &p->j;

	json_object(j);
	json_key(j, "id");
	json_string(j, b->meeting_id);
	api_add_string(j, "name", b->meeting_id);
	api_add_int(j, "arrived", b->arrived);
	api_add_int(j, "total", b->expected);
	api_add_string(j, "status", "waiting");
	api_add_time(j, "created_at", p->now_ms - b->age_ms);
	api_add_string(j, "job", p->job);
	api_add_int(j, "generation", (int64_t)b->generation);
	api_add_string(j, "kind", (unsigned)b->kind < 3 ? kinds[b->kind] : "");
	api_add_int(j, "age_ms", b->age_ms);
	json_key(j, "missing");
	json_array(j);
	for (size_t i = 0; i < b->n_missing; i++)
		json_string(j, b->missing[i]);
	json_end(j);
	json_end(j);
}

static void write_barriers(struct look *l, const ProtobufCMessage *message)
{
	const Roar__ListBarriersReply *m = (const Roar__ListBarriersReply *)
		message;
	struct page *p = l->data;

	for (size_t i = 0; i < m->n_barriers && p->left > 0; i++, p->left--)
		write_barrier(p, m->barriers[i]);
}

/* Only those with somebody waiting, which are few: one page has them. */
void api_barriers(struct server *s, const struct scope *scope,
		  const struct http_request *request, struct http_reply *reply)
{
	CLEANUP(jobs_release) struct jobs jobs = { 0 };
	struct page p = { .now_ms = loop_wall_ms(s->loop) };

	if (parse_page(request, &p) < 0) {
		api_error(reply, 400, "limit is 1 to 10000");
		return;
	}
	if (find_jobs(s, scope, &jobs, reply) < 0)
		return;
	p.j = json_writer(&reply->body, false);
	json_array(&p.j);
	for (size_t i = 0; i < jobs.n && p.left > 0; i++) {
		Roar__ListBarriersRequest ask = ROAR__LIST_BARRIERS_REQUEST__INIT;
		struct look l = { .reply = write_barriers, .data = &p };

		p.job = ask.job_id = jobs.names[i];
		answer_look(s, scope, api_method("/roar.Control/ListBarriers"),
			    &ask.base, &l);
	}
	json_end(&p.j);
	str_addc(&reply->body, '\n');
}
