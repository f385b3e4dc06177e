/* live_table.c - see live_table.h */
#include "api/live_table.h"

#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/vec.h"

static void row_free(struct live_row *row)
{
	free(row->key);
	str_release(&row->name);
	str_release(&row->place);
	str_release(&row->pulse);
	free(row);
}

static void forget_jobs(struct live_table *t)
{
	for (size_t i = 0; i < t->n_jobs; i++)
		free(t->jobs[i]);
	t->n_jobs = 0;
}

void live_table_release(struct live_table *t)
{
	for (size_t i = 0; i < t->n_rows; i++)
		row_free(t->rows[i]);
	forget_jobs(t);
	free(t->jobs);
	free(t->rows);
	map_release(&t->by_key);
	*t = (struct live_table){ 0 };
}

/* ---- what a worker looks like ---- */

/* All that the JSON is made of; zeroed before, since its bytes are compared. */
struct place_look {
	int64_t registered_ms, memory_bytes, shards;
	uint64_t incarnation, hostname;
	int32_t rank, port, gpu_count;
};

struct pulse_look {
	int64_t heard_ms, step, epoch;
	uint64_t task, reason;
	struct api_usage usage;
	int32_t state, activity;
};

static uint64_t digest_of(const char *text)
{
	return map_hash(text, strlen(text));
}

static uint64_t look_at_place(struct server *s, const char *job,
			      const Roar__WorkerView *w)
{
	struct place_look look;

	memset(&look, 0, sizeof(look));
	look.registered_ms = w->registered_ms;
	look.memory_bytes = w->memory_bytes;
	look.shards = coord_shards_of(s->coord, job, w->rank);
	look.incarnation = w->incarnation;
	look.hostname = digest_of(w->hostname);
	look.rank = w->rank;
	look.port = w->port;
	look.gpu_count = w->gpu_count;
	return map_hash(&look, sizeof(look));
}

static uint64_t look_at_pulse(struct server *s, const Roar__WorkerView *w)
{
	const Coordinator__WorkerStatus *status = w->status;
	struct pulse_look look;

	memset(&look, 0, sizeof(look));
	look.heard_ms = api_when_ms(s, w->heartbeat_age_ms);
	look.state = w->state;
	look.reason = digest_of(w->reason);
	api_usage(w, &look.usage);
	if (status) {
		look.step = status->current_step;
		look.epoch = status->current_epoch;
		look.task = digest_of(status->current_task);
		look.activity = status->state;
	}
	return map_hash(&look, sizeof(look));
}

/* ---- its row ---- */

/* What stands between the braces of an object. */
static void keep_members(struct str *out, const struct str *object)
{
	str_clear(out);
	str_add(out, object->data + 1, object->len - 2);
}

static void write_name(struct live_row *row, const char *job, const char *id)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct json j = json_writer(&text, false);

	json_put_object(&j);
	api_add_string(&j, "id", id);
	api_add_string(&j, "job", job);
	json_end(&j);
	if (str_error(&text) == 0)
		keep_members(&row->name, &text);
}

static void write_place(struct server *s, struct live_row *row,
			const Roar__WorkerView *w)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct json j = json_writer(&text, false);

	json_put_object(&j);
	api_write_place(s, &j, row->job, w);
	json_end(&j);
	if (str_error(&text) == 0)
		keep_members(&row->place, &text);
}

static void write_pulse(struct server *s, struct live_row *row,
			const Roar__WorkerView *w)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct json j = json_writer(&text, false);

	json_put_object(&j);
	api_write_pulse(s, &j, w);
	json_end(&j);
	if (str_error(&text) == 0)
		keep_members(&row->pulse, &text);
}

static struct live_row *row_new(const char *job, const char *id)
{
	size_t job_len = strlen(job), id_len = strlen(id);
	struct live_row *row = calloc(1, sizeof(*row));

	if (!row)
		return NULL;
	row->key = malloc(job_len + id_len + 2);
	if (!row->key) {
		free(row);
		return NULL;
	}
	memcpy(row->key, job, job_len + 1);
	memcpy(row->key + job_len + 1, id, id_len + 1);
	row->key_len = job_len + 1 + id_len;
	row->job = row->key;
	write_name(row, job, id);
	return row;
}

static struct live_row *add_row(struct live_table *t, const char *job,
				const char *id)
{
	struct live_row *row = row_new(job, id);

	if (!row)
		return NULL;
	if (vec_reserve(&t->rows, &t->cap_rows, t->n_rows + 1,
			sizeof(struct live_row *)) < 0 ||
	    map_set(&t->by_key, row->key, row->key_len, row) < 0) {
		row_free(row);
		return NULL;
	}
	t->rows[t->n_rows++] = row;
	return row;
}

static struct live_row *find_row(struct live_table *t, const char *job,
				 const char *id)
{
	char key[2 * 256];
	size_t job_len = strlen(job), id_len = strlen(id);

	if (job_len + id_len + 1 > sizeof(key))
		return NULL;
	memcpy(key, job, job_len + 1);
	memcpy(key + job_len + 1, id, id_len);
	return map_get(&t->by_key, key, job_len + 1 + id_len);
}

/* ---- the sweep ---- */

struct sweep {
	struct live_table *table;
	struct server *server;
};

static void update(struct live_table *t, struct server *s, struct live_row *row,
		   const Roar__WorkerView *w)
{
	uint64_t place = look_at_place(s, row->job, w);
	uint64_t pulse = look_at_pulse(s, w);

	bool fresh = row->gone_version || !row->place_version;

	if (fresh || place != row->place_look) {
		write_place(s, row, w);
		row->place_look = place;
		row->place_version = t->version;
	}
	if (fresh || pulse != row->pulse_look) {
		write_pulse(s, row, w);
		row->pulse_look = pulse;
		row->pulse_version = t->version;
	}
	row->gone_version = 0;
	row->seen = t->version;
}

static void meet(void *data, const Roar__WorkerView *w)
{
	struct sweep *sweep = data;
	struct live_table *t = sweep->table;
	const char *job = t->jobs[t->job];
	struct live_row *row = find_row(t, job, w->worker_id);

	if (!row)
		row = add_row(t, job, w->worker_id);
	if (row)
		update(t, sweep->server, row, w);
	else
		t->failed = true;
}

static void add_job(void *data, const Roar__JobStatus *m)
{
	struct live_table *t = data;
	char *name = strdup(m->job_id);
	char **place = name ? VEC_PUSH(t->jobs, t->n_jobs, t->cap_jobs) : NULL;

	if (!place) {
		free(name);
		t->failed = true;
		return;
	}
	*place = name;
}

void live_table_begin(struct live_table *t, struct server *s)
{
	forget_jobs(t);
	t->failed = t->unsure = false;
	t->job = t->rank = 0;
	t->version++;
	t->sweeping = true;
	coord_each_job(s->coord, NULL, add_job, t);
}

/* Whom no sweep met is gone; unless it may only have been missed. */
static void end_sweep(struct live_table *t)
{
	t->sweeping = false;
	forget_jobs(t);
	if (t->unsure || t->failed)
		return;
	for (size_t i = 0; i < t->n_rows; i++) {
		struct live_row *row = t->rows[i];

		if (row->seen != t->version && !row->gone_version)
			row->gone_version = t->version;
	}
}

static void note_epoch(void *data, const Roar__JobStatus *m)
{
	*(uint64_t *)data = m->world_epoch;
}

/* Who leaves gives its rank to another one, whom the sweep may be past. */
static void check_epoch(struct live_table *t, struct server *s)
{
	uint64_t epoch = 0;

	coord_each_job(s->coord, t->jobs[t->job], note_epoch, &epoch);
	if (t->rank > 0 && epoch != t->epoch)
		t->unsure = true;
	t->epoch = epoch;
}

bool live_table_slice(struct live_table *t, struct server *s)
{
	struct sweep sweep = { .table = t, .server = s };
	size_t left = LIVE_SLICE;

	while (t->job < t->n_jobs && left > 0) {
		size_t n;

		check_epoch(t, s);
		n = coord_each_worker(s->coord, server_now(s), t->jobs[t->job],
				      t->rank, left, meet, &sweep);
		t->rank += n;
		if (n < left) {
			t->job++;
			t->rank = 0;
		}
		/* A job costs something even without workers. */
		left -= n < left ? n + 1 : n;
	}
	if (t->job < t->n_jobs)
		return false;
	end_sweep(t);
	return true;
}

/* ---- what is new ---- */

bool live_row_is_news(const struct live_row *row, uint64_t seen)
{
	return !row->gone_version &&
	       (row->place_version > seen || row->pulse_version > seen);
}

void live_row_write(const struct live_row *row, uint64_t seen, struct str *out)
{
	const struct str *first = row->place_version > seen ? &row->place :
							      &row->name;

	str_addc(out, '{');
	str_add(out, first->data, first->len);
	if (row->pulse_version > seen) {
		str_addc(out, ',');
		str_add(out, row->pulse.data, row->pulse.len);
	}
	str_addc(out, '}');
}

bool live_row_is_news_of_end(const struct live_row *row, uint64_t seen)
{
	return row->gone_version > seen;
}

void live_table_forget(struct live_table *t, uint64_t seen)
{
	for (size_t i = t->n_rows; i-- > 0;) {
		struct live_row *row = t->rows[i];

		if (!row->gone_version || row->gone_version > seen)
			continue;
		(void)map_remove(&t->by_key, row->key, row->key_len);
		t->rows[i] = t->rows[--t->n_rows];
		row_free(row);
	}
}
