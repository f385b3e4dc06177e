/* mount_table.h - what is mounted where, and what changed since the last read.
 *
 * Many calls can make a mount, and a mount can bring others with it (propagation,
 * recursive binds).  So no call is interpreted: after each of them /proc/self/mountinfo
 * is read and compared with its earlier state.  The first read must come before the
 * first such call.
 *
 * A new mount of a file system that is also mounted elsewhere is another name of its
 * files: a bind mount.  For an overlay, the directory to which its files are written
 * matters.  A table belongs to one thread. */
#ifndef ROAR_TRACE_CALL_MOUNT_TABLE_H
#define ROAR_TRACE_CALL_MOUNT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "base/str.h"
#include "event/event.h"

struct mount_row {
	int id;
	bool kept; /* while tables are compared: the row is in both */
	int shared; /* its peer group; 0: none */
	int master; /* the group from which it receives mounts; 0: none */
	uint64_t dev;
	const char *root; /* in its file system */
	const char *point; /* where it is mounted */
	const char *upper; /* of an overlay; NULL: not an overlay, or read-only */
};

struct mount_table {
	struct mount_row *rows; /* in the order of the kernel */
	size_t n, cap;
	struct str text; /* strings of the rows that were read */
	struct pool noted; /* strings of the rows that were noted */
	bool is_read;
};

/* A mount or unmount; path2 and `how` as in event.h. */
struct mount_change {
	enum event_kind kind; /* EVENT_MOUNT or EVENT_UNMOUNT */
	enum event_mount how;
	uint64_t dev;
	const char *path;
	const char *path2; /* "" when there is none */
};

void mount_table_release(struct mount_table *t);

/* Reads the table if it was never read.  0 or a negative errno. */
int mount_table_look(struct mount_table *t);

/* Reads the table again and reports what changed, in an order in which it could have
 * happened.  0 or a negative errno; then changes may have been missed. */
int mount_table_update(struct mount_table *t,
		       void (*tell)(void *ctx, const struct mount_change *c),
		       void *ctx);

/* Reports mounts that existed before the run and show files that are also visible
 * elsewhere, and the mounts below them.  Of each such tree one place keeps its names;
 * the place that holds `cwd` is preferred.  Most systems have none.  0 or a negative
 * errno. */
int mount_table_tell_aliases(const char *cwd,
			     void (*tell)(void *ctx,
					  const struct mount_change *c),
			     void *ctx);

/* For backends that learn of mounts late, when the mount may already be gone.  Notes
 * that `root` of the file system `dev` was mounted at `point`.  Fills in `ret`, whose
 * path2 is written to `alias`.  0 or -ENOMEM. */
int mount_table_note(struct mount_table *t, uint64_t dev, const char *root,
		     const char *point, struct str *alias,
		     struct mount_change *ret);

/* Another place than `point` where `root` of that file system is mounted; NULL when
 * there is none, or several. */
const char *mount_table_other(const struct mount_table *t, uint64_t dev,
			      const char *root, const char *point);

/* Does the kernel propagate mounts and unmounts at `point` to another place in our
 * view?  The directory may be visible in another mount of the same peer group, or in
 * one that receives its mounts from it.  Reads the current mounts; true when they
 * cannot be read. */
bool mount_is_propagated(const char *point);

/* Removes the last mount at `point`, which is unmounted. */
void mount_table_forget(struct mount_table *t, const char *point);

#endif
