/* log.h - records that survive the machine: a log kept in etcd, under the names of keys.h.
 *
 * Records are handed in and written as chunks, one transaction at a time: what comes
 * meanwhile shares the next (group commit).  Each transaction compares the fencing token, so
 * a leader that is none any more changes nothing.  A transaction whose answer is lost is
 * made again; to write the same chunk twice is the same as once.
 *
 * Now and then the state is written as a snapshot, beside the log.  When it is whole, one
 * transaction makes it the new beginning and removes what came before; then etcd is asked
 * to forget the history of its keys up to there, so that its size stays bounded.
 *
 * All of it happens on the thread of the loop. */
#ifndef ETCD_LOG_H
#define ETCD_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "etcd/etcd.h"

struct etcd_log;

struct etcd_log_events {
	/* While it is read: each record, in order.  A negative return ends that. */
	int (*record)(void *data, const void *record, size_t len);
	/* All were told; from now on records may be handed in. */
	void (*loaded)(void *data);
	/* More is durable; the transaction took so long. */
	void (*written)(void *data, int64_t took_us);
	/* A snapshot is over: 0, or why there is none. */
	void (*snapshot_ended)(void *data, int error, const char *sentence);
	/* Nothing more is done.  -ESTALE: the token is not good any more.  -ENOSPC: etcd
	 * has no room, and what was handed in since the last durable record is not
	 * kept.  -EBADMSG: what is there is no log of ours.  -EIO: etcd refuses. */
	void (*failed)(void *data, int error, const char *sentence);
};

struct etcd_log_counts {
	uint64_t records; /* handed in */
	uint64_t commits; /* transactions */
	uint64_t bytes; /* of the log since the last snapshot */
};

/* Begins to read.  With `is_full` nothing is taken before etcd was seen to have room. */
int etcd_log_open(struct loop *loop, struct etcd *etcd, const char *cluster,
		  int64_t token, bool is_full,
		  const struct etcd_log_events *events, void *data,
		  struct etcd_log **ret);
/* What is not durable is lost. */
void etcd_log_close(struct etcd_log *l);

/* Hands a record in.  -EMSGSIZE: empty or larger than 32 MiB; -EAGAIN: very much waits for
 * etcd already; -ENOSPC: etcd is known to have no room; -ENOMEM. */
int etcd_log_append(struct etcd_log *l, const void *record, size_t len,
		    uint64_t *ret_number);
/* Lets what was handed in be written. */
void etcd_log_commit(struct etcd_log *l);
/* Up to which number all is safe. */
uint64_t etcd_log_durable(const struct etcd_log *l);

bool etcd_log_wants_snapshot(const struct etcd_log *l);
/* Copies the state, as `walk` tells it, and begins to write it. */
int etcd_log_snapshot(struct etcd_log *l,
		      int (*walk)(void *data,
				  int (*each)(void *to, const void *record,
					      size_t len),
				  void *to),
		      void *data, struct roar_error *err);

void etcd_log_count(const struct etcd_log *l, struct etcd_log_counts *ret);

#endif
