/* coordinator_json.c - see coordinator_show.h */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/str.h"
#include "coordinator/coordinator_show.h"
#include "ui/view.h"

static void add_word(struct json *j, const char *key,
		     const ProtobufCEnumDescriptor *type, int value)
{
	CLEANUP(str_release) struct str word = STR_INIT;

	coordinator_word(&word, type, value);
	view_json_text(j, key, str_cstr(&word));
}

/* ---- status ---- */

static void add_settings(struct json *j, const Roar__JobSettings *s)
{
	view_json_int(j, "min_workers", s->min_workers);
	view_json_int(j, "max_workers", s->max_workers);
	view_json_int(j, "start_workers", s->start_workers);
	view_json_int(j, "heartbeat_interval_ms", s->heartbeat_interval_ms);
	view_json_int(j, "timeout_ms", s->timeout_ms);
	view_json_int(j, "hold_ms", s->hold_ms);
	add_word(j, "on_death", &roar__on_death__descriptor, (int)s->on_death);
}

static void add_job(struct json *j, const Roar__JobStatus *job)
{
	json_put_object(j);
	view_json_text(j, "job", job->job_id);
	view_json_int(j, "world_epoch", (int64_t)job->world_epoch);
	view_json_int(j, "places", job->world_size);
	view_json_int(j, "alive", job->n_alive);
	view_json_bool(j, "ready", job->ready);
	view_json_int(j, "barriers", job->n_barriers);
	view_json_int(j, "keys", job->n_keys);
	if (job->settings)
		add_settings(j, job->settings);
	json_end(j);
}

void coordinator_json_status(struct json *j, const char *address,
			     const Roar__StatusReply *s,
			     const Roar__ListJobsReply *jobs)
{
	json_put_object(j);
	view_json_text(j, "address", address);
	view_json_text(j, "version", s->version);
	view_json_int(j, "uptime_ms", s->uptime_ms);
	view_json_bool(j, "stopping", s->stopping);
	if (s->fencing_token)
		view_json_int(j, "fencing_token", (int64_t)s->fencing_token);
	view_json_int(j, "workers", s->n_workers);
	view_json_int(j, "connections", s->n_connections);
	view_json_int(j, "requests", (int64_t)s->n_requests);
	view_json_int(j, "log_records", (int64_t)s->log_records);
	view_json_int(j, "log_bytes", s->log_bytes);
	json_put_key(j, "jobs");
	json_put_array(j);
	for (size_t i = 0; i < jobs->n_jobs; i++)
		add_job(j, jobs->jobs[i]);
	json_end(j);
	json_end(j);
}

/* ---- workers ---- */

static void add_status(struct json *j, const Coordinator__WorkerStatus *s)
{
	add_word(j, "doing", &coordinator__worker_status__state__descriptor,
		 (int)s->state);
	view_json_text(j, "task", s->current_task);
	view_json_int(j, "epoch", s->current_epoch);
	view_json_int(j, "step", s->current_step);
}

static void add_metadata(struct json *j, const Roar__WorkerView *w)
{
	json_put_key(j, "metadata");
	json_put_object(j);
	for (size_t i = 0; i < w->n_metadata; i++) {
		json_put_key(j, w->metadata[i]->key);
		json_put_string(j, w->metadata[i]->value);
	}
	json_end(j);
}

static void add_worker(struct json *j, const Roar__WorkerView *w)
{
	json_put_object(j);
	view_json_text(j, "worker", w->worker_id);
	view_json_int(j, "rank", w->rank);
	add_word(j, "state", &roar__worker_view__state__descriptor,
		 (int)w->state);
	view_json_text(j, "reason", *w->reason ? w->reason : NULL);
	view_json_int(j, "incarnation", (int64_t)w->incarnation);
	view_json_int(j, "heartbeat_age_ms", w->heartbeat_age_ms);
	view_json_int(j, "registered_ms", w->registered_ms);
	view_json_text(j, "host", w->hostname);
	view_json_int(j, "port", w->port);
	view_json_int(j, "gpus", w->gpu_count);
	view_json_int(j, "memory_bytes", w->memory_bytes);
	if (w->status)
		add_status(j, w->status);
	add_metadata(j, w);
	json_end(j);
}

void coordinator_json_workers(struct json *j,
			      const struct coordinator_workers *w)
{
	json_put_object(j);
	view_json_int(j, "world_epoch",
		      w->n ? (int64_t)w->pages[w->n - 1]->world_epoch : 0);
	json_put_key(j, "workers");
	json_put_array(j);
	for (size_t p = 0; p < w->n; p++)
		for (size_t i = 0; i < w->pages[p]->n_workers; i++)
			add_worker(j, w->pages[p]->workers[i]);
	json_end(j);
	json_end(j);
}

/* ---- barriers ---- */

static void add_barrier(struct json *j, const Roar__BarrierView *b)
{
	json_put_object(j);
	view_json_text(j, "barrier", b->meeting_id);
	view_json_int(j, "generation", (int64_t)b->generation);
	add_word(j, "kind", &roar__meet_kind__descriptor, (int)b->kind);
	view_json_int(j, "arrived", b->arrived);
	view_json_int(j, "expected", b->expected);
	view_json_int(j, "age_ms", b->age_ms);
	json_put_key(j, "missing");
	json_put_array(j);
	for (size_t i = 0; i < b->n_missing; i++)
		json_put_string(j, b->missing[i]);
	json_end(j);
	json_end(j);
}

void coordinator_json_barriers(struct json *j, const Roar__ListBarriersReply *b)
{
	json_put_object(j);
	json_put_key(j, "barriers");
	json_put_array(j);
	for (size_t i = 0; i < b->n_barriers; i++)
		add_barrier(j, b->barriers[i]);
	json_end(j);
	json_end(j);
}

/* ---- keys ---- */

static void add_key(struct json *j, const Roar__KvEntry *e)
{
	json_put_object(j);
	view_json_text(j, "key", e->key);
	json_put_key(j, "value");
	json_put_bytes(j, (const char *)e->value.data, e->value.len);
	view_json_int(j, "version", (int64_t)e->version);
	json_put_key(j, "expires_in_ms");
	if (e->expires_in_ms)
		json_put_int(j, e->expires_in_ms);
	else
		json_put_null(j);
	json_end(j);
}

void coordinator_json_keys(struct json *j, const struct coordinator_keys *k)
{
	json_put_object(j);
	json_put_key(j, "keys");
	json_put_array(j);
	for (size_t p = 0; p < k->n; p++)
		for (size_t i = 0; i < k->pages[p]->n_entries; i++)
			add_key(j, k->pages[p]->entries[i]);
	json_end(j);
	json_end(j);
}
