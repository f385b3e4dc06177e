/* log_disk.c - see log_disk.h */
#include "log/log_disk.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "coord/wal/wal.h"

struct log_disk {
	struct record_log log; /* first */
	struct loop *loop;
	struct wal *wal;
	struct loop_fd durable;
	struct record_log_events events;
	void *data;
	uint64_t n_commits; /* that were told */
};

static struct log_disk *of(const struct record_log *l)
{
	return (struct log_disk *)l;
}

static int append(struct record_log *l, const void *record, size_t len,
		  uint64_t *ret_seq)
{
	return wal_append(of(l)->wal, record, len, ret_seq);
}

static int try_room(struct record_log *l)
{
	return wal_try_room(of(l)->wal);
}

static void commit(struct record_log *l)
{
	wal_commit(of(l)->wal);
}

static uint64_t durable(const struct record_log *l)
{
	return wal_durable(of(l)->wal);
}

static bool wants_snapshot(const struct record_log *l)
{
	return wal_wants_snapshot(of(l)->wal);
}

static int snapshot(struct record_log *l, record_log_walk *walk, void *data,
		    struct roar_error *err)
{
	return wal_snapshot(of(l)->wal, walk, data, err);
}

/* Commits since the last look. */
static void tell_commits(struct log_disk *d, const struct wal_counts *c)
{
	if (c->commits - d->n_commits > WAL_N_SYNC)
		d->n_commits = c->commits - WAL_N_SYNC;
	for (; d->n_commits < c->commits; d->n_commits++)
		d->events.synced(d->data,
				 (int64_t)c->sync_us[d->n_commits % WAL_N_SYNC]);
}

static void count(struct record_log *l, struct record_log_counts *ret)
{
	struct wal_counts c;

	wal_count(of(l)->wal, &c);
	tell_commits(of(l), &c);
	*ret = (struct record_log_counts){ .records = c.records,
					   .bytes = c.log_bytes };
}

static void on_durable(struct loop_fd *f, uint32_t events)
{
	struct log_disk *d = container_of(f, struct log_disk, durable);
	struct roar_error err = { "out of memory" };
	int failed = wal_acknowledge(d->wal);
	struct wal_counts c;
	int r;

	(void)events;
	d->events.written(d->data);
	wal_count(d->wal, &c);
	tell_commits(d, &c);
	r = wal_snapshot_done(d->wal, false, &err);
	if (r != 0)
		d->events.snapshot_ended(d->data, r < 0 ? r : 0, err.text);
	if (failed < 0)
		d->events.failed(d->data, failed, strerror(-failed));
}

static void close_disk(struct record_log *l)
{
	struct log_disk *d = of(l);

	if (d->durable.ready)
		loop_remove(d->loop, &d->durable);
	wal_close(d->wal);
	free(d);
}

static const struct record_log_kind kind = {
	.append = append,
	.try_room = try_room,
	.commit = commit,
	.durable = durable,
	.wants_snapshot = wants_snapshot,
	.snapshot = snapshot,
	.count = count,
	.close = close_disk,
};

int log_disk_open(struct loop *loop, const char *path,
		  const struct record_log_events *events, void *data,
		  struct record_log **ret, struct roar_error *err)
{
	struct log_disk *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return error_set(err, -ENOMEM, "out of memory");
	*d = (struct log_disk){ .log.kind = &kind,
				.loop = loop,
				.events = *events,
				.data = data };
	r = wal_open(path, events->record, data, &d->wal, err);
	if (r < 0) {
		free(d);
		return r;
	}
	d->durable = (struct loop_fd){ .fd = wal_event_fd(d->wal),
				       .ready = on_durable };
	r = loop_add(loop, &d->durable, EPOLLIN);
	if (r < 0) {
		d->durable.ready = NULL;
		close_disk(&d->log);
		return error_set(err, r, "cannot wait for the log: %s",
				 strerror(-r));
	}
	*ret = &d->log;
	events->loaded(data);
	return 0;
}
