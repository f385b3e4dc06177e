/* etcd_log.h - a log of records in etcd, under the keys of keys.h.
 *
 * Records are appended and written as chunks, one transaction at a time; records that
 * arrive meanwhile share the next one (group commit).  Each transaction compares the
 * fencing token, so a deposed leader changes nothing.  A transaction whose reply is lost is
 * retried; writing a chunk is idempotent.
 *
 * From time to time the state is written as a snapshot, beside the log.  When it is
 * complete, one transaction makes it the new start and removes everything before.  Then
 * etcd is asked to compact the history of its keys up to there, so that its size stays
 * bounded.
 *
 * All functions are for the thread of the loop. */
#ifndef ETCD_LOG_H
#define ETCD_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/record_log.h"
#include "etcd/etcd.h"

/* Starts to read; record_log_events report the rest.  With `is_full`, append() returns
 * -ENOSPC until etcd was seen to have room.  close() drops what is not durable.  Errors of
 * `failed`:
 *	-ESTALE		the token is no longer valid
 *	-ENOSPC		etcd has no room; records after the last durable one are lost
 *	-EBADMSG	the keys are not a log of a coordinator
 *	-EIO		etcd refuses */
int etcd_log_open(struct loop *loop, struct etcd *etcd, const char *cluster,
		  int64_t token, bool is_full,
		  const struct record_log_events *events, void *data,
		  struct record_log **ret);

#endif
