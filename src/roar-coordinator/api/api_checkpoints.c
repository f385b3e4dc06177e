/* api_checkpoints.c - checkpoints as JSON, and all of it at once. */
#include "api/api.h"
#include "base/macros.h"
#include "base/number.h"
#include "hash/digest/digest.h"

enum {
	CHECKPOINTS_DEFAULT = 20,
	WORKERS_AT_ONCE = 10000, /* in /api/dashboard; pages have the others */
	MANIFEST_DIGEST = 32, /* bytes */
};

/* ---- checkpoints: one for each part, of the newest steps first ---- */

struct parts {
	struct json *j;
	int64_t left;
};

static const char *status_of(const struct coord_step_look *step)
{
	return step->complete ? "completed" :
	       step->trouble  ? "failed" :
				"pending";
}

static void write_checkpoint(struct json *j, const struct coord_step_look *step,
			     const Coordinator__CheckpointInfo *m)
{
	char manifest[2 * MANIFEST_DIGEST + 1];

	if (step->manifest)
		digest_hex(manifest, step->manifest, MANIFEST_DIGEST);
	json_put_object(j);
	api_add_string(j, "id", m->checkpoint_id);
	api_add_int(j, "step", m->step);
	api_add_int(j, "epoch", m->epoch);
	api_add_int(j, "size", m->size_bytes);
	api_add_string(j, "path", m->storage_path);
	api_add_foreign_time(j, "created_at", m->timestamp_ms);
	api_add_string(j, "worker_id", m->worker_id);
	api_add_string(j, "status", status_of(step));
	api_add_string(j, "job", step->job);
	api_add_int(j, "parts", (int64_t)step->n_parts);
	api_add_int(j, "expected", step->expected);
	api_add_string_or_null(j, "error", step->trouble);
	api_add_string_or_null(j, "manifest", step->manifest ? manifest : NULL);
	json_end(j);
}

/* A save that failed before any part of it was there. */
static void write_failure(struct json *j, const struct coord_step_look *step)
{
	Coordinator__CheckpointInfo m = COORDINATOR__CHECKPOINT_INFO__INIT;

	m.checkpoint_id = (char *)step->save_id;
	m.worker_id = (char *)step->told_by;
	m.step = step->step;
	write_checkpoint(j, step, &m);
}

static void write_parts(void *data, const struct coord_step_look *step)
{
	struct parts *p = data;

	if (!step->n_parts && step->told_by && p->left > 0) {
		write_failure(p->j, step);
		p->left--;
	}

	for (size_t i = 0; i < step->n_parts && p->left > 0; i++, p->left--)
		write_checkpoint(p->j, step, coord_step_part(step, i));
}

static void write_newest(struct server *s, const struct scope *scope,
			 struct json *j, int64_t max)
{
	struct parts p = { .j = j, .left = max };

	json_put_array(j);
	coord_each_step(s->coord, scope->job, write_parts, &p);
	json_end(j);
}

void api_write_checkpoints(struct server *s, const struct scope *scope,
			   struct json *j)
{
	write_newest(s, scope, j, CHECKPOINTS_DEFAULT);
}

void api_checkpoints(struct server *s, const struct scope *scope,
		     const struct http_request *request,
		     struct http_reply *reply)
{
	const char *limit = http_request_query(request, "limit");
	struct json j = json_writer(&reply->body, false);
	int64_t max = CHECKPOINTS_DEFAULT;

	if (limit && number_parse(limit, 1, 10000, &max) < 0) {
		api_error(reply, 400, "limit must be 1 to 10000");
		return;
	}
	write_newest(s, scope, &j, max);
	str_addc(&reply->body, '\n');
}

/* ---- all of it ---- */

struct worker_writer {
	struct server *server;
	struct json *j;
	const char *job;
};

static void write_worker(void *data, const Roar__WorkerView *w)
{
	struct worker_writer *t = data;

	json_put_object(t->j);
	api_write_place(t->server, t->j, t->job, w);
	api_write_pulse(t->server, t->j, w);
	json_end(t->j);
}

static void write_workers_of(void *data, const Roar__JobStatus *m)
{
	struct worker_writer *t = data;

	t->job = m->job_id;
	(void)coord_each_worker(t->server->coord, server_now(t->server),
				m->job_id, 0, WORKERS_AT_ONCE, write_worker, t);
}

void api_write_workers(struct server *s, const struct scope *scope,
		       struct json *j)
{
	struct worker_writer all = { .server = s, .j = j };

	json_put_array(j);
	coord_each_job(s->coord, scope->job, write_workers_of, &all);
	json_end(j);
}

void api_dashboard(struct server *s, const struct scope *scope,
		   const struct http_request *request, struct http_reply *reply)
{
	static const struct {
		const char *key;
		api_part *write;
	} parts[] = {
		{ "coordinator", api_write_presence },
		{ "jobs", api_write_jobs },
		{ "workers", api_write_workers },
		{ "datasets", api_write_datasets },
		{ "checkpoints", api_write_checkpoints },
		{ "barriers", api_write_barriers },
		{ "metrics", api_write_metrics },
		{ "tasks", api_write_tasks },
	};
	struct json j = json_writer(&reply->body, false);

	(void)request;
	json_put_object(&j);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		json_put_key(&j, parts[i].key);
		parts[i].write(s, scope, &j);
	}
	json_put_key(&j, "logs");
	(void)api_write_logs(s, scope->job, &j, 0, 100);
	json_end(&j);
	str_addc(&reply->body, '\n');
}
