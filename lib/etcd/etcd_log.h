/* etcd_log.h - records that survive the machine: a log kept in etcd, under the names of keys.h.
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
