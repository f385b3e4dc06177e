/* api_jobs.c - jobs, barriers, datasets and checkpoints as JSON, each an array.
 *
 * They are few; where they are not, the first PARTS_MAX are shown. */
#include "api/api.h"

enum { PARTS_MAX = 500 };

struct part_writer {
	struct server *server;
	struct json *j;
	unsigned n;
};

static bool is_full(struct part_writer *w)
{
	return w->n++ >= PARTS_MAX;
}

/* ---- jobs ---- */

static void write_job(void *data, const Roar__JobStatus *m)
{
	struct part_writer *w = data;
	struct json *j = w->j;

	json_put_object(j);
	api_add_string(j, "id", m->job_id);
	api_add_int(j, "world_size", m->world_size);
	api_add_int(j, "alive", m->n_alive);
	api_add_int(j, "world_epoch", (int64_t)m->world_epoch);
	api_add_bool(j, "ready", m->ready);
	api_add_int(j, "min_workers", m->settings->min_workers);
	api_add_int(j, "timeout_ms", m->settings->timeout_ms);
	api_add_int(j, "heartbeat_interval_ms",
		    m->settings->heartbeat_interval_ms);
	api_add_int(j, "keys", m->n_keys);
	json_end(j);
}

void api_write_jobs(struct server *s, const struct scope *scope, struct json *j)
{
	struct part_writer w = { .server = s, .j = j };

	json_put_array(j);
	coord_each_job(s->coord, scope->job, write_job, &w);
	json_end(j);
}

/* ---- barriers: those that somebody waits in ---- */

static void write_missing(struct json *j, const Roar__BarrierView *b)
{
	json_put_key(j, "missing");
	json_put_array(j);
	for (size_t i = 0; i < b->n_missing; i++)
		json_put_string(j, b->missing[i]);
	json_end(j);
}

static void write_barrier(void *data, const char *job,
			  const Roar__BarrierView *b)
{
	static const char *const kinds[] = { "barrier", "gather", "vote" };
	struct part_writer *w = data;
	struct json *j = w->j;

	if (is_full(w))
		return;
	json_put_object(j);
	api_add_string(j, "id", b->meeting_id);
	api_add_string(j, "name", b->meeting_id);
	api_add_int(j, "arrived", b->arrived);
	api_add_int(j, "total", b->expected);
	api_add_string(j, "status", "waiting");
	api_add_time(j, "created_at", api_when_ms(w->server, b->age_ms));
	api_add_string(j, "job", job);
	api_add_int(j, "generation", (int64_t)b->generation);
	api_add_string(j, "kind", (unsigned)b->kind < 3 ? kinds[b->kind] : "");
	write_missing(j, b);
	json_end(j);
}

void api_write_barriers(struct server *s, const struct scope *scope,
			struct json *j)
{
	struct part_writer w = { .server = s, .j = j };

	json_put_array(j);
	coord_each_barrier(s->coord, server_now(s), scope->job, write_barrier,
			   &w);
	json_end(j);
}

/* ---- datasets ---- */

static void write_balance(struct json *j, const struct coord_dataset_look *d)
{
	api_add_int(j, "table_version", d->table_version);
	api_add_int(j, "min_shards", d->min_shards);
	api_add_int(j, "max_shards", d->max_shards);
	api_add_count(j, "moved_shards", d->moved_shards);
	api_add_int(j, "last_moved", d->last_moved);
	api_add_int(j, "last_minimum", d->last_minimum);
	api_add_string(j, "balance", d->balance);
	if (strcmp(d->balance, "bytes") == 0) {
		api_add_int(j, "min_bytes", d->min_bytes);
		api_add_int(j, "max_bytes", d->max_bytes);
		api_add_int(j, "last_moved_bytes", d->last_moved_bytes);
		api_add_int(j, "last_minimum_bytes", d->last_minimum_bytes);
	}
	if (strcmp(d->balance, "locality") == 0)
		api_add_int(j, "at_home_shards", d->at_home);
	api_add_count(j, "epoch", d->epoch);
	api_add_count(j, "consumed_samples", d->consumed_samples);
}

static void write_dataset(void *data, const struct coord_dataset_look *d)
{
	struct part_writer *w = data;
	struct json *j = w->j;

	if (is_full(w))
		return;
	json_put_object(j);
	api_add_string(j, "id", d->info->dataset_id);
	api_add_string(j, "name", d->info->dataset_id);
	api_add_int(j, "total_samples", d->info->total_samples);
	api_add_int(j, "shard_size", d->info->shard_size);
	api_add_int(j, "shard_count", d->total_shards);
	api_add_string(j, "format", d->info->format);
	api_add_bool(j, "shuffle", d->info->shuffle);
	api_add_time(j, "registered_at", d->registered_ms);
	api_add_string(j, "job", d->job);
	api_add_string(j, "path", d->info->path);
	api_add_int(j, "seed", d->info->seed);
	write_balance(j, d);
	json_end(j);
}

void api_write_datasets(struct server *s, const struct scope *scope,
			struct json *j)
{
	struct part_writer w = { .server = s, .j = j };

	json_put_array(j);
	coord_each_dataset(s->coord, scope->job, write_dataset, &w);
	json_end(j);
}

/* ---- steps of training that were saved, the newest first ---- */

static void write_step(void *data, const struct coord_step_look *step)
{
	struct part_writer *w = data;
	struct json *j = w->j;

	if (is_full(w))
		return;
	json_put_object(j);
	api_add_string(j, "job", step->job);
	api_add_int(j, "step", step->step);
	api_add_int(j, "epoch", step->epoch);
	api_add_int(j, "parts", (int64_t)step->n_parts);
	api_add_int(j, "expected", step->expected);
	api_add_bool(j, "complete", step->complete);
	api_add_int(j, "size", step->size_bytes);
	api_add_foreign_time(j, "saved_at", step->saved_ms);
	api_add_string_or_null(j, "error", step->trouble);
	json_end(j);
}

void api_write_steps(struct server *s, const struct scope *scope,
		     struct json *j)
{
	struct part_writer w = { .server = s, .j = j };

	json_put_array(j);
	coord_each_step(s->coord, scope->job, write_step, &w);
	json_end(j);
}
