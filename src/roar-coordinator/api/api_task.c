/* api_task.c - tasks.
 *
 * A task is what the reference's dashboards call a piece of work; here that is a job, with
 * the workers that are in it.  It is pending until its first worker comes (api_task_new.c), and
 * ends when its last one leaves.  It can be asked to stop, which is what Drain does. */
#include "api/api.h"

#include <stdio.h>

#include "base/id.h"

enum {
	IDS_MAX = 10000,
	LINES_OF_TASK = 20,
};

struct task {
	struct server *server;
	struct json *j;
	int64_t began_ms; /* when the first of its workers came */
	unsigned n_datasets;
	char dataset[256]; /* its only one */
	double samples,
		consumed; /* of all its datasets; negative: not counted */
};

static void add_worker_id(void *data, const Roar__WorkerView *w)
{
	struct task *t = data;

	json_put_string(t->j, w->worker_id);
	if (!t->began_ms || w->registered_ms < t->began_ms)
		t->began_ms = w->registered_ms;
}

static void add_dataset(void *data, const struct coord_dataset_look *d)
{
	struct task *t = data;

	t->n_datasets++;
	(void)snprintf(t->dataset, sizeof(t->dataset), "%s",
		       d->info->dataset_id);
	t->samples += (double)d->info->total_samples;
	if (d->consumed_samples < 0 || t->consumed < 0)
		t->consumed = COORD_NOT_COUNTED;
	else
		t->consumed += (double)d->consumed_samples;
}

/* Percent of the epoch under way, where it is counted. */
static double progress(const struct task *t)
{
	if (!t->n_datasets || t->samples <= 0 || t->consumed < 0)
		return -1;
	return 100 * t->consumed / t->samples;
}

static const char *task_status(const Roar__JobStatus *m)
{
	/* Its world is 0 until somebody was in it. */
	return m->world_size == 0 && !m->world_epoch ? "pending" :
	       m->world_size == 0		     ? "completed" :
	       m->n_alive == 0			     ? "failed" :
	       !m->ready			     ? "pending" :
						       "running";
}

static void write_task(void *data, const Roar__JobStatus *m)
{
	struct task *all = data;
	struct task t = { .server = all->server, .j = all->j };
	struct json *j = t.j;

	coord_each_dataset(t.server->coord, m->job_id, add_dataset, &t);
	json_put_object(j);
	api_add_string(j, "id", m->job_id);
	api_add_string(j, "name", m->job_id);
	api_add_string(j, "type", "job");
	api_add_string(j, "status", task_status(m));
	json_put_key(j, "worker_ids");
	json_put_array(j);
	(void)coord_each_worker(t.server->coord, server_now(t.server),
				m->job_id, 0, IDS_MAX, add_worker_id, &t);
	json_end(j);
	json_put_key(j, "dataset_id");
	json_put_string(j, t.n_datasets == 1 ? t.dataset : NULL);
	api_add_foreign_time(j, "started_at", t.began_ms);
	json_put_key(j, "completed_at");
	json_put_null(j);
	api_add_double(j, "progress", progress(&t));
	json_put_key(j, "logs");
	api_write_messages(t.server, m->job_id, j, LINES_OF_TASK);
	json_end(j);
}

void api_write_tasks(struct server *s, const struct scope *scope,
		     struct json *j)
{
	struct task all = { .server = s, .j = j };

	json_put_array(j);
	coord_each_job(s->coord, scope->job, write_task, &all);
	json_end(j);
}

/* ---- one of them: /api/tasks/ID/... ---- */

static const char prefix[] = "/api/tasks/";

/* Takes the ID from the path, when that ends so. */
static bool id_of(const char *path, const char *ending, char id[ID_MAX + 1])
{
	size_t before = sizeof(prefix) - 1, after = strlen(ending);
	size_t len = strlen(path);

	if (len <= before + after || memcmp(path, prefix, before) != 0 ||
	    strcmp(path + len - after, ending) != 0 ||
	    !id_is_valid(path + before, len - before - after))
		return false;
	len -= before + after;
	memcpy(id, path + before, len);
	id[len] = '\0';
	return true;
}

static void write_logs(struct server *s, const char *id,
		       struct http_reply *reply)
{
	struct json j = json_writer(&reply->body, false);

	(void)api_write_logs(s, id, &j, 0, RECENT_LINES_MAX);
	str_addc(&reply->body, '\n');
}

static void take_count(struct look *l, const ProtobufCMessage *message)
{
	*(int64_t *)l->data = ((const Roar__DrainReply *)message)->n_workers;
}

/* All its workers are asked to finish what they do and leave. */
static void stop(struct server *s, const struct scope *scope, char *id,
		 struct http_reply *reply)
{
	Roar__DrainRequest request = ROAR__DRAIN_REQUEST__INIT;
	int64_t n = 0;
	struct look l = { .reply = take_count, .data = &n };
	struct json j;

	request.job_id = id;
	host_look(s, scope, api_method("/roar.Control/Drain"), &request.base,
		  &l);
	if (!journal_is_durable(s))
		reply->wait_for = s->appended;
	loop_later(s->loop, &s->round_end); /* it was recorded */
	if (l.status != COORD_OK) {
		api_error(reply, l.status == COORD_NOT_FOUND ? 404 : 503,
			  l.sentence);
		return;
	}
	reply->status = 202;
	j = json_writer(&reply->body, false);
	json_put_object(&j);
	api_add_bool(&j, "success", true);
	api_add_string(&j, "id", id);
	api_add_string(&j, "status", "stopping");
	api_add_int(&j, "workers", n);
	json_end(&j);
	str_addc(&reply->body, '\n');
}

bool api_task_is(const char *path)
{
	char id[ID_MAX + 1];

	return id_of(path, "/logs", id) || id_of(path, "/stop", id);
}

void api_task(struct server *s, const struct scope *scope,
	      const struct http_request *request, struct http_reply *reply)
{
	char id[ID_MAX + 1];
	bool logs = id_of(request->path, "/logs", id);

	if (!logs && !id_of(request->path, "/stop", id))
		return;
	if (scope->job && strcmp(scope->job, id) != 0)
		api_error(reply, 403, access_sentence(ACCESS_DENIED));
	else if (logs && !request->is_post)
		write_logs(s, id, reply);
	else if (!logs && request->is_post)
		stop(s, scope, id, reply);
	else
		api_error(reply, 405,
			  logs ? "logs are read-only: use GET" :
				 "stopping a task is a change: use POST");
}
