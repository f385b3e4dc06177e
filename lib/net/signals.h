/* signals.h - SIGTERM, SIGINT and SIGHUP, heard by the loop. */
#ifndef NET_SIGNALS_H
#define NET_SIGNALS_H

#include "base/error.h"
#include "net/loop.h"

/* From now on they end nobody, but make `f` ready, and writing to who is gone is an error
 * instead of a signal. */
int signals_watch(struct loop *loop, struct loop_fd *f,
		  void (*ready)(struct loop_fd *f, uint32_t events),
		  struct roar_error *err);
/* Its descriptor may be -1: nothing is watched. */
void signals_unwatch(struct loop *loop, struct loop_fd *f);

/* The one that came; 0 when none did. */
int signals_read(const struct loop_fd *f);

#endif
