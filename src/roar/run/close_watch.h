/* close_watch.h - which written files have been closed.
 *
 * Tracing close() would stop the command once more per file.  The kernel tells
 * it for free: an inotify watch on each directory the run writes to reports
 * names whose writers are gone.  It is only a hint that a file can be hashed
 * early; where watches are exhausted or the file system has none, files are
 * hashed at the end. */
#ifndef ROAR_RUN_CLOSE_WATCH_H
#define ROAR_RUN_CLOSE_WATCH_H

#include <stddef.h>

#include "base/cleanup.h"

struct close_watch;

int close_watch_new(struct close_watch **ret_watch);
void close_watch_free(struct close_watch *w);
DEFINE_CLEANUP(struct close_watch *, close_watch_free)

/* Watches the directory of `path`; once is enough for all names in it. */
void close_watch_add(struct close_watch *w, const char *path, size_t len);

/* Calls `closed` for every name closed since the last time.  The path is only
 * valid during the call. */
void close_watch_read(struct close_watch *w,
		      void (*closed)(void *ctx, const char *path, size_t len),
		      void *ctx);

/* Ends watching, when the command has ended.  The kernel takes some 15 ms to forget
 * watches, and the process that closes the last descriptor, or exits with it, waits for
 * that; the shell would notice.  So the descriptor is left in the queue of a socket that
 * nobody can reach any more, where a thread of the kernel finds and closes it.  Before
 * Linux 6.9 there is no such thread: then this call waits.  `w` may be NULL. */
void close_watch_abandon(struct close_watch *w);

#endif
