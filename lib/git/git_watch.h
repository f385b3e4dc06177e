/* git_watch.h - files and directories whose stamps prove an old answer valid.
 *
 * If none of the watched names changed since a query, the query would have the same
 * result today.  A directory is watched because a new file in it changes its mtime; a
 * file because its content matters (a changed source, an ignore list); a missing file
 * because it may appear (its stamp has ino 0). */
#ifndef ROAR_GIT_WATCH_H
#define ROAR_GIT_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/pool.h"
#include "base/stamp.h"

enum { GIT_WATCH_MAX = 300 * 1000 };

struct git_watch {
	const char *path; /* from the root of the tree, or absolute */
	uint32_t len;
	struct stamp stamp;
};

struct git_watches {
	struct pool pool;
	struct git_watch *items;
	size_t n_items, cap;
	struct map by_path; /* values point to the watch's path */
};

#define GIT_WATCHES_INIT ((struct git_watches){ 0 })

void git_watches_release(struct git_watches *watches);

/* Watches `path` with the stamp it has now (git_watch_add) or had (git_watch_put).  A
 * path that is already watched keeps its first stamp.  0, -ENOMEM, or -E2BIG past
 * GIT_WATCH_MAX. */
int git_watch_add(struct git_watches *watches, int root_fd, const char *path,
		  size_t len);
int git_watch_put(struct git_watches *watches, const char *path, size_t len,
		  const struct stamp *stamp);

bool git_watch_has(const struct git_watches *watches, const char *path,
		   size_t len);

/* The current stamp of a name; ino 0 when there is none. */
struct stamp git_stamp_at(int root_fd, const char *path);

/* Are all stamps still the same?  False also when *cancel becomes true. */
bool git_watches_hold(const struct git_watches *watches, int root_fd,
		      const atomic_bool *cancel);

/* Are all stamps older than `time_ns`, so that none can hide a change made since?  That
 * makes it safe to take them after their query: a name that changed during the query is
 * younger. */
bool git_watches_settled(const struct git_watches *watches, int64_t time_ns);

#endif
