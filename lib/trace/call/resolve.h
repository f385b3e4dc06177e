/* resolve.h - from what a process passed to the kernel to a canonical path.
 *
 * A canonical path is absolute and free of symbolic links in its directory
 * part; the last component is looked at by the caller, because some calls
 * follow a link there and some do not.
 *
 * Most opens of a program name files in few directories, so canonical forms of
 * directory names are remembered, for a moment: others may rename directories and
 * switch links, too.  When somebody in the tree does so, the memory is dropped at
 * once. */
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

/* How long what was seen a moment ago is believed without another look. */
enum { BELIEF_NS = 2000000 };

struct resolver {
	const int64_t *clock; /* the time now; NULL: it stands still */
	struct map dirs; /* directory as named -> canonical struct text */
	struct pool pool;
	struct path_cache known;
	struct str scratch;
	struct thread_fd here; /* a current directory: what t->cwd was read from */
	int base; /* where the last name was resolved from: here.fd or AT_FDCWD */
	size_t base_len; /* how much of the name leads there */
	bool viewed; /* the last name was resolved as the process sees it... */
	struct view_name asked; /* ...from this, its path in `asked_path` */
	struct str asked_path;
};

void resolver_release(struct resolver *r);

/* Forgets remembered directories and files. */
void resolver_forget(struct resolver *r);

/* Holds the current directory of this thread from now on (0: of none): a file in it
 * can be looked at without the way there.  The thread must be alive: so no mount is
 * kept busy that it does not keep busy itself. */
void resolver_hold(struct resolver *r, pid_t tid);

/* Lets it go, because somebody leaves a directory or unmounts, until the name of
 * the directory is asked for again. */
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

/* Follows symbolic links of an existing name that has just been resolved: `path` is
 * replaced, `ret_stat` filled in.  -ENOENT for a dangling link, -ELOOP for one that
 * leads through a process's own descriptors, -EREMOTE as above. */
int resolve_follow(const struct resolver *r, const struct tracee *t,
		   struct str *path, struct stat *ret_stat);

/* The name that a dangling link leads to, where the call may make a file.  Only for a
 * name that was resolved as the process sees it (`viewed`). */
int resolve_target(const struct resolver *r, const struct tracee *t,
		   struct str *out);

/* Both in one, for a file that is to be executed: its canonical name, and what we see
 * under it. */
int resolve_file(struct resolver *r, struct tree *tree, struct tracee *t,
		 int dirfd, const char *path, size_t len, struct str *out,
		 struct stat *ret_stat);

/* The file behind a descriptor of the tracee: its path and stat.  -ENOENT when
 * it has no name any more, -EINVAL when it is no file of the file system. */
int resolve_fd(pid_t tid, int fd, struct str *out, struct stat *ret_stat);

/* The canonical path of a descriptor of our own. */
int resolve_fd_path(int fd, struct str *out);

/* Is the file that a descriptor of the tracee stands for, with the name and stat from
 * resolve_fd(), the one under that name in our view?  True also when it has got
 * another name since, or we may not look: that is no matter of views. */
bool resolve_is_visible(pid_t tid, int fd, const struct str *path,
			const struct stat *st);

/* Does this path mean something else to the tracee than to us?  ("/proc/self",
 * "/dev/fd", ...) */
bool resolve_is_private(const char *path);

#endif
