/* log.h - where records are kept: a folder of this machine (log_disk.c), or etcd
 * (log_etcd.c).
 *
 * Records are handed in and numbered; later they are durable, in order.  What happens
 * meanwhile is told by events, from the loop, never from within a function of the log. */
#ifndef COORDINATOR_LOG_H
#define COORDINATOR_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "net/loop.h"

struct etcd;
struct log;

struct log_counts {
	uint64_t records; /* handed in */
	uint64_t bytes; /* of records that a start would have to read */
};

/* Tells the whole state by calling `each` for every record. */
typedef int log_walk(void *data,
		     int (*each)(void *to, const void *record, size_t len),
		     void *to);

struct log_kind {
	/* Hands a record in.  -ENOSPC: there is no room for it, -EAGAIN: too much waits,
	 * -EMSGSIZE: it is too long; -EIO: nothing can be kept any more. */
	int (*append)(struct log *l, const void *record, size_t len,
		      uint64_t *ret_seq);
	/* After -ENOSPC: 0 when there is room again.  NULL: only append() can tell. */
	int (*try_room)(struct log *l);
	/* At the end of a round: what was handed in may be written. */
	void (*commit)(struct log *l);
	uint64_t (*durable)(const struct log *l); /* up to which number */
	bool (*wants_snapshot)(const struct log *l);
	int (*snapshot)(struct log *l, log_walk *walk, void *data,
			struct roar_error *err);
	void (*count)(struct log *l, struct log_counts *ret);
	void (*close)(struct log *l);
};

struct log {
	const struct log_kind *kind;
};

struct log_events {
	/* A record that was kept; while the log is opened. */
	int (*record)(void *data, const void *record, size_t len);
	/* All of them were told: records may be handed in. */
	void (*loaded)(void *data);
	/* More is durable. */
	void (*written)(void *data);
	/* A commit took so long. */
	void (*synced)(void *data, int64_t took_us);
	/* A snapshot is over: 0, or why there is none. */
	void (*snapshot_ended)(void *data, int error, const char *sentence);
	/* Nothing can be kept any more. */
	void (*failed)(void *data, int error, const char *sentence);
};

/* All records are told, and `loaded`, when this returns. */
int log_disk_open(struct loop *loop, const char *path,
		  const struct log_events *events, void *data, struct log **ret,
		  struct roar_error *err);

/* Begins to read; the events say the rest.  `failed` as etcd/log.h says. */
int log_etcd_open(struct loop *loop, struct etcd *etcd, const char *cluster,
		  int64_t token, bool is_full, const struct log_events *events,
		  void *data, struct log **ret);

#endif
