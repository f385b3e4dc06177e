/* api_status.c - how the server is and how much there is, as JSON. */
#include "api/api.h"

void api_health(struct server *s, const struct scope *scope,
		const struct http_request *request, struct http_reply *reply)
{
	struct json j = json_writer(&reply->body, false);

	(void)scope;
	(void)request;
	json_put_object(&j);
	api_add_string(&j, "status",
		       s->failure  ? "failed" :
		       s->stopping ? "stopping" :
				     "ok");
	api_add_string(&j, "version", ROAR_VERSION);
	api_add_int(&j, "uptime",
		    (loop_now_ms(s->loop) - s->started_mono_ms) / 1000);
	json_end(&j);
	str_addc(&reply->body, '\n');
	if (s->failure)
		reply->status = 503;
}

struct totals {
	int64_t n_jobs, n_workers, n_alive, n_barriers, n_keys;
};

static void add_totals(void *data, const Roar__JobStatus *m)
{
	struct totals *t = data;

	t->n_jobs++;
	t->n_workers += m->world_size;
	t->n_alive += m->n_alive;
	t->n_barriers += m->n_barriers;
	t->n_keys += m->n_keys;
}

/* Of all jobs that may be seen. */
static void find_totals(struct server *s, const struct scope *scope,
			struct totals *t)
{
	coord_each_job(s->coord, scope->job, add_totals, t);
}

static const char *status_word(const struct server *s)
{
	return s->failure ? "failed" : s->stopping ? "stopping" : "running";
}

/* What stays the same for long. */
static void add_server(struct server *s, struct json *j)
{
	api_add_string(j, "status", status_word(s));
	api_add_string(j, "version", ROAR_VERSION);
	api_add_time(j, "started_at", s->started_ms);
}

/* With the keys that dashboards know: who answers is connected. */
static void add_presence(struct server *s, struct json *j)
{
	CLEANUP(str_release) struct str address = STR_INIT;

	server_own_address(s, &address);
	api_add_bool(j, "connected", true);
	api_add_string(j, "address", str_cstr(&address));
	api_add_int(j, "uptime",
		    (loop_now_ms(s->loop) - s->started_mono_ms) / 1000);
}

void api_status(struct server *s, const struct scope *scope,
		const struct http_request *request, struct http_reply *reply)
{
	struct json j = json_writer(&reply->body, false);
	struct totals t = { 0 };

	(void)request;
	find_totals(s, scope, &t);
	json_put_object(&j);
	add_server(s, &j);
	add_presence(s, &j);
	api_add_int(&j, "jobs", t.n_jobs);
	api_add_int(&j, "total_workers", t.n_workers);
	api_add_int(&j, "active_workers", t.n_alive);
	api_add_int(&j, "active_barriers", t.n_barriers);
	api_add_int(&j, "keys", t.n_keys);
	json_end(&j);
	str_addc(&reply->body, '\n');
}

static void add_rights(struct server *s, const struct scope *scope,
		       struct json *j)
{
	api_add_bool(j, "disk_full", s->disk_full);
	api_add_bool(j, "admin", scope->admin);
	json_put_key(j, "job");
	json_put_string(j, scope->job);
}

/* For streams, which tell it once: nothing in it changes with the time. */
void api_write_server(struct server *s, const struct scope *scope,
		      struct json *j)
{
	json_put_object(j);
	add_server(s, j);
	add_rights(s, scope, j);
	json_end(j);
}

void api_write_presence(struct server *s, const struct scope *scope,
			struct json *j)
{
	json_put_object(j);
	add_server(s, j);
	add_presence(s, j);
	add_rights(s, scope, j);
	json_end(j);
}

/* ---- figures ---- */

static double p99_ms(const struct histogram *h)
{
	return h->n ? histogram_quantile(h, 0.99) / 1000 : -1;
}

/* Of the calls of one method, from request to reply. */
static double method_p99_ms(struct server *s, const char *path)
{
	const struct rpc_method *m = methods_by_path(&s->methods, path,
						     strlen(path));

	return m ? p99_ms(&((const struct method *)m->data)->duration) : -1;
}

static double checkpoint_mb_per_s(const struct server *s)
{
	double rate = history_checkpoint_rate(&s->history, 60);

	return rate < 0 ? rate : rate / 1e6;
}

/* Rates and times are of all jobs together: who sees one of them is not told. */
void api_write_metrics(struct server *s, const struct scope *scope,
		       struct json *j)
{
	struct totals t = { 0 };
	bool all = scope->admin;

	find_totals(s, scope, &t);
	json_put_object(j);
	api_add_double(j, "checkpoint_throughput",
		       all ? checkpoint_mb_per_s(s) : -1);
	api_add_double(j, "coordinator_rps",
		       all ? rate_per_s(&s->requests, loop_now_ms(s->loop)) :
			     -1);
	api_add_int(j, "active_workers", t.n_alive);
	api_add_int(j, "total_workers", t.n_workers);
	api_add_double(j, "barrier_latency_p99",
		       all ? p99_ms(&s->barrier_wait) : -1);
	api_add_double(
		j, "shard_assignment_time",
		all ? method_p99_ms(s, "/coordinator.Coordinator/GetDataShard") :
		      -1);
	json_end(j);
}
