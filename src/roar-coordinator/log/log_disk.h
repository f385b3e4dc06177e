/* log_disk.h - the log in a directory of this machine: coord/wal/wal.h, on the loop. */
#ifndef COORDINATOR_LOG_DISK_H
#define COORDINATOR_LOG_DISK_H

#include "base/record_log.h"
#include "net/loop.h"

/* Reads the log: `record` and `loaded` are called before this returns. */
int log_disk_open(struct loop *loop, const char *path,
		  const struct record_log_events *events, void *data,
		  struct record_log **ret, struct roar_error *err);

#endif
