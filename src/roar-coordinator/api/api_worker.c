/* api_worker.c - a worker as JSON, with the keys that dashboards know. */
#include "api/api.h"

static const char *state_name(const Roar__WorkerView *w)
{
	static const char *const names[] = { "alive", "suspect", "dead",
					     "draining", "gone" };

	return (unsigned)w->state < 5 ? names[w->state] : "unknown";
}

/* What it says that it does. */
static const char *activity_name(const Coordinator__WorkerStatus *status)
{
	static const char *const names[] = { "",	   "initializing",
					     "idle",	   "loading data",
					     "training",   "checkpointing",
					     "recovering", "error" };

	return status && (unsigned)status->state < 8 ? names[status->state] :
						       "";
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

void api_write_place(struct server *s, struct json *j, const char *job,
		     const Roar__WorkerView *w)
{
	api_add_string(j, "id", w->worker_id);
	api_add_string(j, "job", job);
	api_add_int(j, "rank", w->rank);
	api_add_string(j, "ip", w->hostname);
	api_add_int(j, "port", w->port);
	api_add_int(j, "gpu_count", w->gpu_count);
	api_add_int(j, "memory_bytes", w->memory_bytes);
	api_add_count(j, "assigned_shards",
		      coord_shards_of(s->coord, job, w->rank));
	api_add_int(j, "incarnation", (int64_t)w->incarnation);
	api_add_time(j, "registered_at", w->registered_ms);
}

static int64_t add_up(int64_t a, int64_t b)
{
	int64_t sum;

	return b < 0 || __builtin_add_overflow(a, b, &sum) ? a : sum;
}

static void add_gpus(const Coordinator__ResourceUsage *usage,
		     struct api_usage *ret)
{
	double percent = 0;

	ret->gpu_memory_bytes = ret->gpu_memory_total = 0;
	for (size_t i = 0; i < usage->n_gpu_usage; i++) {
		const Coordinator__GpuUsage *gpu = usage->gpu_usage[i];

		percent += gpu->utilization_percent;
		ret->gpu_memory_bytes = add_up(ret->gpu_memory_bytes,
					       gpu->memory_used_bytes);
		ret->gpu_memory_total = add_up(ret->gpu_memory_total,
					       gpu->memory_total_bytes);
	}
	ret->gpu_percent = percent / (double)usage->n_gpu_usage;
}

void api_usage(const Roar__WorkerView *w, struct api_usage *ret)
{
	const Coordinator__ResourceUsage *usage = w->resources;

	*ret = (struct api_usage){ -1, -1, -1, -1, -1 };
	if (!usage)
		return;
	ret->cpu_percent = usage->cpu_percent;
	ret->memory_bytes = usage->memory_used_bytes;
	if (usage->n_gpu_usage)
		add_gpus(usage, ret);
}

static void write_usage(struct json *j, const Roar__WorkerView *w)
{
	struct api_usage usage;

	api_usage(w, &usage);
	api_add_double(j, "cpu_percent", usage.cpu_percent);
	api_add_count(j, "memory_used_bytes", usage.memory_bytes);
	api_add_double(j, "gpu_percent", usage.gpu_percent);
	api_add_count(j, "gpu_memory_used_bytes", usage.gpu_memory_bytes);
	api_add_count(j, "gpu_memory_total_bytes", usage.gpu_memory_total);
}

void api_write_pulse(struct server *s, struct json *j,
		     const Roar__WorkerView *w)
{
	const Coordinator__WorkerStatus *status = w->status;

	api_add_string(j, "status", status_name(w));
	api_add_string(j, "state", state_name(w));
	api_add_string(j, "reason", w->reason);
	api_add_string(j, "activity", activity_name(status));
	api_add_time(j, "last_heartbeat", api_when_ms(s, w->heartbeat_age_ms));
	api_add_int(j, "current_epoch", status ? status->current_epoch : 0);
	api_add_int(j, "current_step", status ? status->current_step : 0);
	api_add_string(j, "current_task", status ? status->current_task : "");
	write_usage(j, w);
}
