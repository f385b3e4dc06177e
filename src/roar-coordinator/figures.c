/* figures.c - how the server is and how much there is, as JSON. */
#include "api.h"

void api_health(struct server *s, const struct scope *scope,
		const struct http_request *request, struct http_reply *reply)
{
	struct json j = json_writer(&reply->body, false);

	(void)scope;
	(void)request;
	json_object(&j);
	api_add_string(&j, "status",
		       s->failure  ? "failed" :
		       s->stopping ? "stopping" :
				     "healthy");
	api_add_string(&j, "version", ROAR_VERSION);
	api_add_int(&j, "uptime_seconds",
		    (loop_now_ms(s->loop) - s->started_mono_ms) / 1000);
	json_end(&j);
	str_addc(&reply->body, '\n');
	if (s->failure)
		reply->status = 503;
}

struct totals {
	int64_t n_jobs, n_workers, n_alive, n_barriers, n_keys;
};

static void add_totals(struct look *l, const ProtobufCMessage *message)
{
	const Roar__ListJobsReply *m = (const Roar__ListJobsReply *)message;
	struct totals *t = l->data;

	t->n_jobs = (int64_t)m->n_jobs;
	for (size_t i = 0; i < m->n_jobs; i++) {
		t->n_workers += m->jobs[i]->world_size;
		t->n_alive += m->jobs[i]->n_alive;
		t->n_barriers += m->jobs[i]->n_barriers;
		t->n_keys += m->jobs[i]->n_keys;
	}
}

/* Of all jobs that may be seen. */
static void find_totals(struct server *s, const struct scope *scope,
			struct totals *t)
{
	Roar__ListJobsRequest request = ROAR__LIST_JOBS_REQUEST__INIT;
	struct look l = { .reply = add_totals, .data = t };

	answer_look(s, scope, api_method("/roar.Control/ListJobs"),
		    &request.base, &l);
}

void api_status(struct server *s, const struct scope *scope,
		const struct http_request *request, struct http_reply *reply)
{
	struct json j = json_writer(&reply->body, false);
	struct totals t = { 0 };

	(void)request;
	find_totals(s, scope, &t);
	json_object(&j);
	api_add_string(&j, "status",
		       s->failure  ? "failed" :
		       s->stopping ? "stopping" :
				     "running");
	api_add_string(&j, "version", ROAR_VERSION);
	api_add_int(&j, "uptime_seconds",
		    (loop_now_ms(s->loop) - s->started_mono_ms) / 1000);
	api_add_time(&j, "started_at", s->started_ms);
	api_add_int(&j, "jobs", t.n_jobs);
	api_add_int(&j, "total_workers", t.n_workers);
	api_add_int(&j, "active_workers", t.n_alive);
	api_add_int(&j, "active_barriers", t.n_barriers);
	api_add_int(&j, "keys", t.n_keys);
	json_end(&j);
	str_addc(&reply->body, '\n');
}

/* What nothing is measured of is null. */
void api_metrics(struct server *s, const struct scope *scope,
		 const struct http_request *request, struct http_reply *reply)
{
	struct json j = json_writer(&reply->body, false);
	struct totals t = { 0 };

	(void)request;
	find_totals(s, scope, &t);
	json_object(&j);
	json_key(&j, "checkpoint_throughput");
	json_null(&j);
	json_key(&j, "coordinator_rps");
	json_double(&j, rate_per_s(&s->requests, loop_now_ms(s->loop)));
	api_add_int(&j, "active_workers", t.n_alive);
	api_add_int(&j, "total_workers", t.n_workers);
	json_key(&j, "barrier_latency_p99");
	if (s->barrier_wait.n)
		json_double(&j,
			    histogram_quantile(&s->barrier_wait, 0.99) / 1000);
	else
		json_null(&j);
	json_key(&j, "shard_assignment_time");
	json_null(&j);
	json_end(&j);
	str_addc(&reply->body, '\n');
}
