/* log_etcd.c - the log in etcd: etcd/log.h as log.h has it. */
#include <errno.h>
#include <stdlib.h>

#include "etcd/log.h"
#include "log/log.h"

struct log_etcd {
	struct log log; /* first */
	struct etcd_log *kept;
	struct log_events events;
	void *data;
};

static struct log_etcd *of(const struct log *l)
{
	return (struct log_etcd *)l;
}

static int append(struct log *l, const void *record, size_t len,
		  uint64_t *ret_seq)
{
	return etcd_log_append(of(l)->kept, record, len, ret_seq);
}

static void commit(struct log *l)
{
	etcd_log_commit(of(l)->kept);
}

static uint64_t durable(const struct log *l)
{
	return etcd_log_durable(of(l)->kept);
}

static bool wants_snapshot(const struct log *l)
{
	return etcd_log_wants_snapshot(of(l)->kept);
}

static int snapshot(struct log *l, log_walk *walk, void *data,
		    struct roar_error *err)
{
	return etcd_log_snapshot(of(l)->kept, walk, data, err);
}

static void count(struct log *l, struct log_counts *ret)
{
	struct etcd_log_counts c;

	etcd_log_count(of(l)->kept, &c);
	*ret = (struct log_counts){ .records = c.records, .bytes = c.bytes };
}

static void close_etcd(struct log *l)
{
	etcd_log_close(of(l)->kept);
	free(l);
}

static const struct log_kind kind = {
	.append = append,
	.commit = commit,
	.durable = durable,
	.wants_snapshot = wants_snapshot,
	.snapshot = snapshot,
	.count = count,
	.close = close_etcd,
};

/* ---- events ---- */

static int on_record(void *data, const void *record, size_t len)
{
	struct log_etcd *e = data;

	return e->events.record(e->data, record, len);
}

static void on_loaded(void *data)
{
	struct log_etcd *e = data;

	e->events.loaded(e->data);
}

static void on_written(void *data, int64_t took_us)
{
	struct log_etcd *e = data;

	e->events.synced(e->data, took_us);
	e->events.written(e->data);
}

static void on_snapshot_ended(void *data, int error, const char *sentence)
{
	struct log_etcd *e = data;

	e->events.snapshot_ended(e->data, error, sentence);
}

static void on_failed(void *data, int error, const char *sentence)
{
	struct log_etcd *e = data;

	e->events.failed(e->data, error, sentence);
}

static const struct etcd_log_events events_of_etcd = {
	.record = on_record,
	.loaded = on_loaded,
	.written = on_written,
	.snapshot_ended = on_snapshot_ended,
	.failed = on_failed,
};

int log_etcd_open(struct loop *loop, struct etcd *etcd, const char *cluster,
		  int64_t token, bool is_full, const struct log_events *events,
		  void *data, struct log **ret)
{
	struct log_etcd *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	*e = (struct log_etcd){ .log.kind = &kind,
				.events = *events,
				.data = data };
	r = etcd_log_open(loop, etcd, cluster, token, is_full, &events_of_etcd,
			  e, &e->kept);
	if (r < 0) {
		free(e);
		return r;
	}
	*ret = &e->log;
	return 0;
}
