/* record_log.h - the interface of a durable log of records, on disk (coord/wal/wal.h) or in
 * etcd (etcd/etcd_log.h).
 *
 * append() gives each record a number, from 1 up; records become durable later, in that
 * order.  Events report what happens meanwhile.  They come from the event loop, never from
 * inside a function of the log.  A log belongs to the thread of its loop. */
#ifndef ROAR_BASE_RECORD_LOG_H
#define ROAR_BASE_RECORD_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct record_log;

struct record_log_counts {
	uint64_t records; /* appended since the start */
	uint64_t bytes; /* since the last snapshot: what a start would read again */
};

/* Passes the whole state to `each`, record by record. */
typedef int record_log_walk(void *data,
			    int (*each)(void *to, const void *record,
					size_t len),
			    void *to);

struct record_log_kind {
	/* Appends a record; copies it.  -ENOSPC: no room; -EAGAIN: too much is queued;
	 * -EMSGSIZE: too long or empty; -EIO: the log has failed. */
	int (*append)(struct record_log *l, const void *record, size_t len,
		      uint64_t *ret_number);
	/* After -ENOSPC: 0 when there is room again.  NULL: only append() can tell. */
	int (*try_room)(struct record_log *l);
	/* Starts writing what was appended; called once per round of the loop. */
	void (*commit)(struct record_log *l);
	/* The number up to which all records are durable. */
	uint64_t (*durable)(const struct record_log *l);
	bool (*wants_snapshot)(const struct record_log *l);
	/* Copies the state that `walk` passes and starts writing it. */
	int (*snapshot)(struct record_log *l, record_log_walk *walk, void *data,
			struct roar_error *err);
	void (*count)(struct record_log *l, struct record_log_counts *ret);
	void (*close)(struct record_log *l);
};

/* First in the struct of an implementation. */
struct record_log {
	const struct record_log_kind *kind;
};

struct record_log_events {
	/* A record that was kept, while the log is read.  A negative return ends that. */
	int (*record)(void *data, const void *record, size_t len);
	/* The log was read: records may be appended. */
	void (*loaded)(void *data);
	/* More is durable. */
	void (*written)(void *data);
	/* A commit took this long. */
	void (*synced)(void *data, int64_t took_us);
	/* A snapshot has ended: 0, or why there is none. */
	void (*snapshot_ended)(void *data, int error, const char *sentence);
	/* Nothing more can be kept. */
	void (*failed)(void *data, int error, const char *sentence);
};

#endif
