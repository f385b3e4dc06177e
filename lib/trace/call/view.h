/* view.h - names as seen by a process whose view of the file system is not ours.
 *
 * A process may have another root (chroot), other mounts (a mount namespace), a
 * directory in a mount that is not attached anywhere (open_tree), or rules for one call
 * (openat2).  Then a path made of text, from the name of its current directory and the
 * given name, can lead us to another file.  So this module walks as the kernel would
 * for that process, component by component.  The walk starts at a descriptor of the
 * process's root, of its current directory, or at one of its own descriptors, opened
 * through /proc.
 *
 * The result is the name that the kernel has for the file.  It is used only if it leads
 * to the same file (device and inode) in our own view.  Otherwise the result is
 * -EREMOTE: the file exists for the process, but has no name that we could record.
 *
 * Each name costs several system calls, so this is only for processes and names that
 * need it.  The thread must be alive. */
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

/* The canonical name in our view; `follow`: the target of links in the last component.
 * The file need not exist.  0, the error that the call would get, or -EREMOTE. */
int view_resolve(const struct tracee *t, const struct view_name *n, bool follow,
		 struct str *out);

/* Follows links in the last component as well: the name and stat of an existing file.
 * -EREMOTE also fills in `ret_stat`.  -EINVAL when it is not a file of the file system
 * (a pipe in /proc/PID/fd), -ESTALE when its name is gone. */
int view_follow(const struct tracee *t, const struct view_name *n,
		struct str *out, struct stat *ret_stat);

#endif
