/* view.h - names as a process sees them whose view of the file system is not ours.
 *
 * A process may have another root (chroot), other mounts (a mount namespace), a
 * directory in a mount that is attached nowhere (open_tree), or rules of its own for
 * one call (openat2).  Then a path made of text, from the name of its current
 * directory and the name it gave, can lead us to another file than it.  Here we walk
 * as the kernel would for that process: from a descriptor of its root, its current
 * directory or one of its own descriptors, which /proc lends us, component by
 * component.
 *
 * What is reached gets the name that the kernel has for it, and this name is
 * believed only if it leads to the same file (device and inode) in our own view.
 * Otherwise the answer is -EREMOTE: the file exists for the process, and has no name
 * that we could record.
 *
 * Each name costs several system calls: only for processes and names that need it.
 * The thread must be alive. */
#ifndef ROAR_TRACE_CALL_VIEW_H
#define ROAR_TRACE_CALL_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/str.h"
#include "trace/call/tracee.h"

/* A name as a process passed it to the kernel. */
struct view_name {
	int dirfd; /* where it starts, unless it begins with a slash */
	uint64_t rules; /* RESOLVE_* of openat2() */
	const char *path;
	size_t len;
};

/* The canonical name in our view; `follow`: where links in the last component lead
 * to.  Nothing need be there.  0, the error that the call would get, or -EREMOTE. */
int view_resolve(const struct tracee *t, const struct view_name *n, bool follow,
		 struct str *out);

/* Follows links to the end as well: the name and stat of an existing file.  -EREMOTE also fills in `ret_stat`.  -EINVAL when it is no file of the file
 * system (a pipe in /proc/PID/fd), -ESTALE when its name is gone. */
int view_follow(const struct tracee *t, const struct view_name *n,
		struct str *out, struct stat *ret_stat);

#endif
