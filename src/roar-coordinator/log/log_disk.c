/* log_disk.c - the log in a folder of this machine: coord/wal/wal.h, on the loop. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "coord/wal/wal.h"
#include "log/log.h"

struct log_disk {
	struct log log; /* first */
	struct loop *loop;
	struct wal *wal;
	struct loop_fd durable;
	struct log_events events;
	void *data;
	uint64_t n_commits; /* that were told */
};

static struct log_disk *of(const struct log *l)
{
	return (struct log_disk *)l;
}

static int append(struct log *l, const void *record, size_t len,
		  uint64_t *ret_seq)
{
	return wal_append(of(l)->wal, record, len, ret_seq);
}

static int try_room(struct log *l)
{
	return wal_try_room(of(l)->wal);
}

static void commit(struct log *l)
{
	wal_commit(of(l)->wal);
}

static uint64_t durable(const struct log *l)
{
	return wal_durable(of(l)->wal);
}

static bool wants_snapshot(const struct log *l)
{
	return wal_wants_snapshot(of(l)->wal);
}

static int snapshot(struct log *l, log_walk *walk, void *data,
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

static void count(struct log *l, struct log_counts *ret)
{
	struct wal_counts c;

	wal_count(of(l)->wal, &c);
	tell_commits(of(l), &c);
	*ret = (struct log_counts){ .records = c.records,
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

static void close_disk(struct log *l)
{
	struct log_disk *d = of(l);

	if (d->durable.ready)
		loop_remove(d->loop, &d->durable);
	wal_close(d->wal);
	free(d);
}

static const struct log_kind kind = {
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
		  const struct log_events *events, void *data, struct log **ret,
		  struct roar_error *err)
{
	struct log_disk *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return error_set(err, -ENOMEM, "no memory for the log");
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
