/* signals.h - SIGTERM, SIGINT and SIGHUP as events of the loop. */
#ifndef NET_SIGNALS_H
#define NET_SIGNALS_H

#include "base/error.h"
#include "net/loop.h"

/* Blocks these signals and calls `ready` for them instead; SIGPIPE is ignored. */
int signals_watch(struct loop *loop, struct loop_fd *f,
		  void (*ready)(struct loop_fd *f, uint32_t events),
		  struct roar_error *err);
/* Does nothing if the descriptor is -1. */
void signals_unwatch(struct loop *loop, struct loop_fd *f);

/* The signal that arrived; 0: none. */
int signals_read(const struct loop_fd *f);

#endif
