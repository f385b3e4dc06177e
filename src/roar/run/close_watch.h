/* close_watch.h - which written files have been closed.
 *
 * Tracing close() would stop the command once more per file.  Instead, an inotify
 * watch on each directory that the run writes to reports names whose writers have
 * closed them.  That is only a hint that a file can be hashed early: where watches are
 * exhausted or the file system has none, files are hashed at the end.  Belongs to the
 * tracer's thread. */
#ifndef ROAR_RUN_CLOSE_WATCH_H
#define ROAR_RUN_CLOSE_WATCH_H

#include <stddef.h>

#include "base/cleanup.h"

struct close_watch;

int close_watch_new(struct close_watch **ret_watch);
void close_watch_free(struct close_watch *w);
DEFINE_CLEANUP(struct close_watch *, close_watch_free)

/* Watches the directory of `path`, unless it is watched already. */
void close_watch_add(struct close_watch *w, const char *path, size_t len);

/* Calls `closed` for every name closed since the last time.  The path is only
 * valid during the call. */
void close_watch_read(struct close_watch *w,
		      void (*closed)(void *ctx, const char *path, size_t len),
		      void *ctx);

/* Ends watching after the command has ended.  `w` may be NULL.  The kernel takes some
 * 15 ms to remove the watches, and the process that closes the last descriptor (or exits
 * with it) waits for that.  So the descriptor is sent into a socket that no process can reach
 * any more, where a kernel thread finds and closes it.  Before Linux 6.9 there is no such
 * thread, and this call waits. */
void close_watch_abandon(struct close_watch *w);

#endif
