/* api.h - shared by the JSON endpoints.
 *
 * Every figure is measured; one that is not available is null, never an estimate. */
#ifndef COORDINATOR_API_H
#define COORDINATOR_API_H

#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "coord/inspect.h"
#include "server.h"

static inline void api_add_int(struct json *j, const char *key, int64_t value)
{
	json_put_key(j, key);
	json_put_int(j, value);
}

static inline void api_add_string(struct json *j, const char *key,
				  const char *value)
{
	json_put_key(j, key);
	json_put_string(j, value ? value : "");
}

/* NULL: null. */
static inline void api_add_string_or_null(struct json *j, const char *key,
					  const char *value)
{
	json_put_key(j, key);
	if (value)
		json_put_string(j, value);
	else
		json_put_null(j);
}

/* A negative number means "not counted": null. */
static inline void api_add_count(struct json *j, const char *key, int64_t value)
{
	json_put_key(j, key);
	if (value < 0)
		json_put_null(j);
	else
		json_put_int(j, value);
}

static inline void api_add_double(struct json *j, const char *key, double value)
{
	json_put_key(j, key);
	if (value < 0)
		json_put_null(j);
	else
		json_put_double(j, value);
}

static inline void api_add_bool(struct json *j, const char *key, bool value)
{
	json_put_key(j, key);
	json_put_bool(j, value);
}

/* Milliseconds since 1970, as is common for dashboards. */
static inline void api_add_time(struct json *j, const char *key,
				int64_t wall_ms)
{
	api_add_int(j, key, wall_ms);
}

/* A time of a worker's clock, which may be wrong: null unless plausible; 0: none. */
static inline void api_add_foreign_time(struct json *j, const char *key,
					int64_t wall_ms)
{
	if (wall_ms > 0 && wall_ms < INT64_MAX / 1000000) {
		api_add_time(j, key, wall_ms);
		return;
	}
	json_put_key(j, key);
	json_put_null(j);
}

/* The wall-clock time `age_ms` ago, computed from the monotonic clock, so that the same
 * moment always gives the same value. */
static inline int64_t api_when_ms(const struct server *s, int64_t age_ms)
{
	return s->started_ms + loop_now_ms(s->loop) - age_ms -
	       s->started_mono_ms;
}

static inline const struct coord_method *api_method(const char *path)
{
	return coord_method_by_path(path, strlen(path));
}

/* The resource usage that a worker's heartbeats report; negative: not reported. */
struct api_usage {
	double cpu_percent;
	int64_t memory_bytes;
	double gpu_percent; /* average over its GPUs */
	int64_t gpu_memory_bytes, gpu_memory_total; /* sum over its GPUs */
};

void api_usage(const Roar__WorkerView *w, struct api_usage *ret);

/* api_worker.c: the members of a worker's object, in two parts: those that stay as long as
 * it holds its place, and those that change with its heartbeats. */
void api_write_place(struct server *s, struct json *j, const char *job,
		     const Roar__WorkerView *w);
void api_write_pulse(struct server *s, struct json *j,
		     const Roar__WorkerView *w);

/* A part of the dashboard: one value. */
typedef void api_part(struct server *s, const struct scope *scope,
		      struct json *j);

/* api_status.c */
api_part api_write_server, api_write_presence, api_write_metrics;
/* api_jobs.c */
api_part api_write_jobs, api_write_barriers, api_write_datasets,
	api_write_steps;
/* api_checkpoints.c */
api_part api_write_workers, api_write_checkpoints;
/* api_task.c */
api_part api_write_tasks;
bool api_task_is(const char *path); /* /api/tasks/ID/logs or /stop */
/* api_logs.c: lines after id `after`, at most `max`; returns the id of the last one. */
uint64_t api_write_logs(struct server *s, const char *job, struct json *j,
			uint64_t after, unsigned max);
/* Only their messages. */
void api_write_messages(struct server *s, const char *job, struct json *j,
			unsigned max);
/* api_history.c: rows after id `after`; returns the id of the last one. */
uint64_t api_write_history(struct server *s, struct json *j, uint64_t after);
void api_write_columns(struct json *j);

#endif
