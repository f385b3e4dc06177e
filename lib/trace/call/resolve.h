/* resolve.h - the canonical path of a name that a process passed to the kernel.
 *
 * A canonical path is absolute and free of symbolic links in its directory part.  The
 * caller examines the last component, because some calls follow a link there and some
 * do not.
 *
 * Most opens of a program name files in few directories, so canonical forms of
 * directory names are cached for a moment.  The time is short because processes outside
 * the tree may rename directories and change links, too.  When a process of the tree
 * does so, the cache is dropped at once. */
#ifndef ROAR_TRACE_CALL_RESOLVE_H
#define ROAR_TRACE_CALL_RESOLVE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/pool.h"
#include "base/str.h"
#include "trace/call/path_cache.h"
#include "trace/call/thread_fd.h"
#include "trace/call/tracee.h"
#include "trace/call/view.h"

/* How long an observed state is assumed to hold without another check. */
enum { BELIEF_NS = 2000000 };

struct resolver {
	const int64_t *clock; /* the current time; NULL: it does not advance */
	struct map dirs; /* directory as named -> canonical struct text */
	struct pool pool;
	struct path_cache known;
	struct str scratch;
	struct thread_fd here; /* the current directory that t->cwd was read
			        * from */
	int base; /* where the last name was resolved from: here.fd or AT_FDCWD */
	size_t base_len; /* how many bytes of the name lead there */
	bool viewed; /* the last name was resolved as the process sees it... */
	struct view_name asked; /* ...from this, its path in `asked_path` */
	struct str asked_path;
};

void resolver_release(struct resolver *r);

/* Drops cached directories and files. */
void resolver_forget(struct resolver *r);

/* Holds the current directory of this thread open from now on (0: of none), so that its
 * files can be examined without a path walk.  The thread must be alive: then no mount
 * is kept busy longer than the thread itself keeps it busy. */
void resolver_hold(struct resolver *r, pid_t tid);

/* Closes it, because a process leaves a directory or unmounts, until the name of the
 * directory is needed again. */
void resolver_let_go(struct resolver *r);

/* Canonical form of `path` as `t` would see it from `dirfd` (AT_FDCWD or one of
 * its descriptors).  The last component is kept as it is.  Negative errno when
 * the directory part does not exist (the call will fail, too); -EOVERFLOW when the
 * call may succeed but the path is longer than PATH_MAX; -EREMOTE when the file has
 * no name in our view (view.h). */
int resolve_name(struct resolver *r, struct tree *tree, struct tracee *t,
		 int dirfd, const char *path, size_t len, struct str *out);

/* The same by the rules of openat2() (RESOLVE_*). */
int resolve_by_rules(struct resolver *r, const struct tracee *t,
		     const struct view_name *n, struct str *out);

/* Follows the symbolic links of an existing name that was just resolved: replaces
 * `path` and fills in `ret_stat`.  -ENOENT for a dangling link, -ELOOP for a link
 * through a process's own descriptors, -EREMOTE as above. */
int resolve_follow(const struct resolver *r, const struct tracee *t,
		   struct str *path, struct stat *ret_stat);

/* The target of a dangling link, where the call may create a file.  Only for a name
 * that was resolved as the process sees it (`viewed`). */
int resolve_target(const struct resolver *r, const struct tracee *t,
		   struct str *out);

/* resolve_name() and resolve_follow() for a file that is to be executed: its canonical
 * name, and its stat in our view. */
int resolve_file(struct resolver *r, struct tree *tree, struct tracee *t,
		 int dirfd, const char *path, size_t len, struct str *out,
		 struct stat *ret_stat);

/* The path and stat of the file of a tracee's descriptor.  -ENOENT when the file has no
 * name any more, -EINVAL when it is not a file of the file system. */
int resolve_fd(pid_t tid, int fd, struct str *out, struct stat *ret_stat);

/* The canonical path of a descriptor of our own. */
int resolve_fd_path(int fd, struct str *out);

/* Is the file of the tracee's descriptor, with the name and stat from resolve_fd(), the
 * file of that name in our view?  True also when the file has been renamed since, or we
 * may not examine it: then the view does not matter. */
bool resolve_is_visible(pid_t tid, int fd, const struct str *path,
			const struct stat *st);

/* Does this path have another meaning for the tracee than for us?  ("/proc/self",
 * "/dev/fd", ...) */
bool resolve_is_private(const char *path);

#endif
