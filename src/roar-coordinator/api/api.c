/* api.c - workers as JSON, page by page.
 *
 * They are asked from the state machine by its own calls, so that it shows nobody more
 * than those would.  The list goes over all jobs that may be seen, in the order of their
 * names, and comes in pages: `limit` items, with "JOB:RANK" of the last one as `after` of
 * the next (a header, Link, has it ready). */
#include "api/api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/number.h"
#include "base/pool.h"
#include "base/vec.h"

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

	host_look(s, scope, api_method("/roar.Control/ListJobs"), &request.base,
		  &l);
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
	struct server *server;
	struct json j;
	int64_t limit; /* items it may have */
	int64_t left; /* that may still come */
	const char *after_job; /* "" from the start */
	size_t after_job_len;
	int32_t after_rank;
	const char *job; /* whose items come now */
	int32_t last_rank;
	bool more;
};

static int parse_page(const struct http_request *request, struct page *p)
{
	const char *limit = http_request_query(request, "limit");
	const char *after = http_request_query(request, "after");
	const char *colon = after ? strrchr(after, ':') : NULL;
	int64_t rank = 0;

	p->limit = LIMIT;
	p->after_job = "";
	if (limit && number_parse(limit, 1, MAX_LIMIT, &p->limit) < 0)
		return -EINVAL;
	p->left = p->limit;
	if (!after)
		return 0;
	if (!colon || number_parse(colon + 1, 0, INT32_MAX - 1, &rank) < 0 ||
	    !id_is_valid(after, (size_t)(colon - after)))
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
	const char *job = http_request_query(request, "job");

	if (!p->more || !p->job)
		return;
	str_addf(&reply->link, "<%s?after=%s:%d&limit=%lld", request->path,
		 p->job, p->last_rank, (long long)p->limit);
	if (job && *job)
		str_addf(&reply->link, "&job=%s", job);
	str_adds(&reply->link, ">; rel=\"next\"");
}

/* ---- workers ---- */

static void write_worker(struct page *p, const Roar__WorkerView *w)
{
	json_put_object(&p->j);
	api_write_place(p->server, &p->j, p->job, w);
	api_write_pulse(p->server, &p->j, w);
	api_add_int(&p->j, "heartbeat_age_ms", w->heartbeat_age_ms);
	json_end(&p->j);
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
	request.first_rank = order > 0 ? 0 : p->after_rank + 1;
	p->job = job;
	host_look(s, scope, api_method("/roar.Control/ListWorkers"),
		  &request.base, &l);
}

void api_workers(struct server *s, const struct scope *scope,
		 const struct http_request *request, struct http_reply *reply)
{
	CLEANUP(jobs_release) struct jobs jobs = { 0 };
	struct page p = { .server = s };

	if (parse_page(request, &p) < 0) {
		api_error(reply, 400,
			  "limit must be 1 to 10000, and after JOB:RANK");
		return;
	}
	if (find_jobs(s, scope, &jobs, reply) < 0)
		return;
	p.j = json_writer(&reply->body, false);
	json_put_array(&p.j);
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
