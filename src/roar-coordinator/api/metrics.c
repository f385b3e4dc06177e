/* metrics.c - everything that is counted, for Prometheus. */
#include "server.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/macros.h"
#include "base/pool.h"
#include "base/prom.h"

#define PREFIX "roar_coordinator_"

/* A metric without labels. */
static void one(struct str *out, const char *name, const char *type,
		const char *help, uint64_t value)
{
	prom_family(out, name, type, help);
	prom_integer(out, name, NULL, value);
}

/* ---- calls ---- */

static void write_statuses(struct str *out, const struct method *m)
{
	for (unsigned status = 0; status < METHOD_STATUSES; status++) {
		struct prom_label labels[] = {
			{ "method", m->rpc.path },
			{ "code", method_status_name(status) },
			{ 0 },
		};

		if (m->statuses[status])
			prom_integer(out, PREFIX "calls_total", labels,
				     m->statuses[status]);
	}
}

/* Methods that nobody called are left out: they would be most of the text. */
static void write_calls(struct server *s, struct str *out)
{
	prom_family(out, PREFIX "calls_total", "counter",
		    "Calls that ended, by method and status.");
	for (size_t i = 0; i < s->methods.n; i++)
		write_statuses(out, &s->methods.items[i]);
	prom_family(out, PREFIX "call_duration_seconds", "histogram",
		    "From a request to its reply, waiting included.");
	for (size_t i = 0; i < s->methods.n; i++) {
		const struct method *m = &s->methods.items[i];
		struct prom_label labels[] = { { "method", m->rpc.path },
					       { 0 } };

		if (m->duration.n)
			prom_histogram(out, PREFIX "call_duration_seconds",
				       labels, &m->duration);
	}
	one(out, PREFIX "requests_total", "counter",
	    "Request messages, those of streams included.", s->n_requests);
}

/* ---- connections ---- */

static void write_wires(struct str *out, const struct rpc_counts *c)
{
	struct prom_label grpc[] = { { "wire", "grpc" }, { 0 } };
	struct prom_label frames[] = { { "wire", "frames" }, { 0 } };

	prom_family(out, PREFIX "calls_begun_total", "counter",
		    "Calls that started, by protocol.");
	prom_integer(out, PREFIX "calls_begun_total", grpc, c->calls_grpc);
	prom_integer(out, PREFIX "calls_begun_total", frames, c->calls_frames);
}

static void write_connections(struct server *s, struct str *out)
{
	struct rpc_counts c;

	rpc_server_count(s->rpc, &c);
	one(out, PREFIX "connections", "gauge", "Open connections.",
	    c.n_connections);
	one(out, PREFIX "lanes", "gauge",
	    "Workers' connections that come by agents.", c.n_lanes);
	one(out, PREFIX "connections_accepted_total", "counter",
	    "Connections that were accepted.", c.accepted);
	one(out, PREFIX "connections_refused_total", "counter",
	    "Connections refused because of the limit.", c.refused);
	one(out, PREFIX "connections_closed_total", "counter",
	    "Connections that ended.", c.closed);
	one(out, PREFIX "calls", "gauge", "Calls in progress.", c.n_calls);
	write_wires(out, &c);
	one(out, PREFIX "received_bytes_total", "counter",
	    "Bytes from clients.", c.bytes_in);
	one(out, PREFIX "sent_bytes_total", "counter", "Bytes to clients.",
	    c.bytes_out);
	one(out, PREFIX "unsent_bytes", "gauge",
	    "Bytes of replies that clients have not read yet.", c.unsent_bytes);
	one(out, PREFIX "protocol_errors_total", "counter",
	    "Connections closed because of a protocol error.",
	    c.protocol_errors);
	one(out, PREFIX "slow_readers_total", "counter",
	    "Connections closed because the client did not read.",
	    c.slow_readers);
}

static void write_http(struct server *s, struct str *out)
{
	if (!s->http)
		return;
	one(out, PREFIX "http_requests_total", "counter", "HTTP requests.",
	    http_service_n_requests(s->http));
	one(out, PREFIX "http_streams", "gauge",
	    "Open event streams: dashboards and other watchers.",
	    http_service_n_streams(s->http));
	one(out, PREFIX "http_slow_readers_total", "counter",
	    "HTTP connections closed because the client did not read.",
	    http_service_n_slow(s->http));
}

/* ---- the state ---- */

static void write_workers(struct str *out, const struct coord_counts *c)
{
	const struct {
		const char *state;
		uint32_t n;
	} rows[] = { { "alive", c->n_alive },
		     { "suspect", c->n_suspect },
		     { "dead", c->n_dead } };

	prom_family(out, PREFIX "workers", "gauge",
		    "Registered workers, by state.");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct prom_label labels[] = { { "state", rows[i].state },
					       { 0 } };

		prom_integer(out, PREFIX "workers", labels, rows[i].n);
	}
}

static void write_meetings(struct server *s, struct str *out,
			   const struct coord_counts *c)
{
	struct prom_label released[] = { { "result", "released" }, { 0 } };
	struct prom_label failed[] = { { "result", "failed" }, { 0 } };

	one(out, PREFIX "barriers_waiting", "gauge",
	    "Barriers and other meetings with waiting workers.", c->n_meetings);
	prom_family(out, PREFIX "barriers_total", "counter",
		    "Barriers and other meetings that ended, by outcome.");
	prom_integer(out, PREFIX "barriers_total", released, c->n_released);
	prom_integer(out, PREFIX "barriers_total", failed, c->n_failed);
	prom_family(
		out, PREFIX "barrier_wait_seconds", "histogram",
		"Wait of the first worker, for barriers that were released.");
	prom_histogram(out, PREFIX "barrier_wait_seconds", NULL,
		       &s->barrier_wait);
	prom_family(out, PREFIX "barrier_skew_seconds", "histogram",
		    "Time from the first to the last arrival, likewise.");
	prom_histogram(out, PREFIX "barrier_skew_seconds", NULL,
		       &s->barrier_skew);
}

static void write_saves(struct str *out, const struct coord_counts *c)
{
	struct prom_label committed[] = { { "result", "committed" }, { 0 } };
	struct prom_label failed[] = { { "result", "failed" }, { 0 } };

	prom_family(out, PREFIX "checkpoints_total", "counter",
		    "Checkpoints saved in two phases that ended, by outcome.");
	prom_integer(out, PREFIX "checkpoints_total", committed,
		     c->n_committed);
	prom_integer(out, PREFIX "checkpoints_total", failed,
		     c->n_saves_failed);
}

static void write_state(struct server *s, struct str *out)
{
	struct coord_counts c;

	coord_count(s->coord, &c);
	one(out, PREFIX "jobs", "gauge", "Jobs.", c.n_jobs);
	write_workers(out, &c);
	write_meetings(s, out, &c);
	write_saves(out, &c);
	one(out, PREFIX "waiting_calls", "gauge", "Calls that wait.",
	    c.n_waiting);
	one(out, PREFIX "watchers", "gauge", "Streams of changes.",
	    c.n_watchers);
	one(out, PREFIX "keys", "gauge", "Keys in all stores.", c.n_keys);
	one(out, PREFIX "key_bytes", "gauge", "Bytes of keys and values.",
	    c.key_bytes);
}

/* ---- how long workers were silent ---- */

struct age {
	const char *job;
	int64_t max_ms;
};

struct ages {
	struct map by_job;
	struct pool pool;
};

static void add_age(void *data, const char *job, int64_t age_ms)
{
	struct ages *a = data;
	struct age *age = map_get(&a->by_job, job, strlen(job));

	if (!age) {
		age = pool_zalloc(&a->pool, sizeof(*age));
		if (!age)
			return;
		age->job = pool_strdup(&a->pool, job);
		if (!age->job ||
		    map_set(&a->by_job, age->job, strlen(job), age) < 0)
			return;
	}
	age->max_ms = age_ms > age->max_ms ? age_ms : age->max_ms;
}

static void write_ages(struct server *s, struct str *out)
{
	struct ages a = { .by_job = MAP_INIT, .pool = POOL_INIT };
	const struct age *age;
	size_t at = 0;

	coord_each_age(s->coord, server_now(s), add_age, &a);
	prom_family(
		out, PREFIX "heartbeat_age_seconds", "gauge",
		"Longest time since a heartbeat among the workers of a job.");
	while ((age = map_next(&a.by_job, &at))) {
		struct prom_label labels[] = { { "job", age->job }, { 0 } };

		prom_seconds(out, PREFIX "heartbeat_age_seconds", labels,
			     (double)age->max_ms / 1000);
	}
	map_release(&a.by_job);
	pool_release(&a.pool);
}

/* ---- the log ---- */

static void write_log(struct server *s, struct str *out)
{
	struct record_log_counts c;

	journal_count(s, &c);
	one(out, PREFIX "log_records_total", "counter",
	    "Records that were handed to the log.", c.records);
	one(out, PREFIX "log_bytes", "gauge", "Bytes of records in the log.",
	    c.bytes);
	prom_family(out, PREFIX "log_sync_seconds", "histogram",
		    "How long a commit took to reach the disk.");
	prom_histogram(out, PREFIX "log_sync_seconds", NULL, &s->log_sync);
	one(out, PREFIX "log_failed", "gauge",
	    "1 when the log cannot be written.", s->failure != 0);
	one(out, PREFIX "log_disk_full", "gauge",
	    "1 when there was no room for the last record.", s->disk_full);
	one(out, PREFIX "held_replies", "gauge",
	    "Replies that wait for the disk.", s->reply_queue.n);
	one(out, PREFIX "held_bytes", "gauge",
	    "Bytes of replies that wait for the disk.",
	    reply_queue_bytes(&s->reply_queue));
	one(out, PREFIX "snapshots_failed_total", "counter",
	    "Snapshots that could not be made.", s->n_snapshots_failed);
	prom_family(out, PREFIX "snapshot_seconds", "histogram",
		    "How long a snapshot took.");
	prom_histogram(out, PREFIX "snapshot_seconds", NULL, &s->snapshot);
}

/* ---- the lead ---- */

static void write_lead(struct server *s, struct str *out)
{
	one(out, PREFIX "leads", "gauge",
	    "1 when requests are answered here, 0 for a standby.",
	    leadership_serves(s));
	if (!s->leadership)
		return;
	one(out, PREFIX "fencing_token", "gauge",
	    "Fencing token of the leader; 0 for a standby.",
	    (uint64_t)leadership_token(s));
	one(out, PREFIX "etcd_reachable", "gauge",
	    "0 when no member of etcd answers.", !leadership_in_trouble(s));
}

/* ---- the process ---- */

static uint64_t resident_bytes(void)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	unsigned long pages = 0;
	char *end = NULL;

	if (fd_read_file(AT_FDCWD, "/proc/self/statm", 4096, &text) < 0)
		return 0;
	(void)strtoul(str_cstr(&text), &end, 10);
	pages = strtoul(end, NULL, 10);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void write_process(struct server *s, struct str *out)
{
	struct prom_label version[] = { { "version", ROAR_VERSION }, { 0 } };

	prom_family(out, PREFIX "build_info", "gauge",
		    "1, and the version as a label.");
	prom_integer(out, PREFIX "build_info", version, 1);
	prom_family(out, "process_start_time_seconds", "gauge",
		    "When the process started, since 1970.");
	prom_seconds(out, "process_start_time_seconds", NULL,
		     (double)s->started_ms / 1000);
	one(out, "process_resident_memory_bytes", "gauge",
	    "Memory that the process has.", resident_bytes());
	one(out, PREFIX "stopping", "gauge",
	    "1 while the coordinator is stopping.", s->stopping);
	one(out, PREFIX "log_lines_left_out_total", "counter",
	    "Log lines dropped because of the rate limit.",
	    s->lines.left_out_total);
}

void metrics_write(struct server *s, struct str *out)
{
	write_process(s, out);
	write_connections(s, out);
	write_http(s, out);
	write_calls(s, out);
	write_state(s, out);
	write_ages(s, out);
	write_log(s, out);
	write_lead(s, out);
}
