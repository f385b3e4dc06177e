/* mount_table.h - what is mounted where, and what changed since the last look.
 *
 * A mount can come by many calls, and bring others with it (propagation, recursive
 * binds).  So no call is interpreted: after each of them /proc/self/mountinfo is read
 * and compared with what it was.  The first look must be before the first call.
 *
 * A new mount whose file system is mounted elsewhere, too, is another name of what
 * is there: a bind mount.  Of an overlay it matters where its files are written to.
 * A table belongs to one thread. */
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
	bool kept; /* while tables are compared: it is in both */
	int shared; /* its peer group; 0: none */
	int master; /* the group it gets mounts from; 0: none */
	uint64_t dev;
	const char *root; /* in its file system */
	const char *point; /* where it is mounted */
	const char *upper; /* of an overlay; NULL: it is none, or read-only */
};

struct mount_table {
	struct mount_row *rows; /* in the order of the kernel */
	size_t n, cap;
	struct str text; /* the strings of the rows that were read */
	struct pool noted; /* and of those that were noted */
	bool is_read;
};

/* A mount that came or went; path2 and `how` as in event.h. */
struct mount_change {
	enum event_kind kind; /* EVENT_MOUNT or EVENT_UNMOUNT */
	enum event_mount how;
	uint64_t dev;
	const char *path;
	const char *path2; /* "" when there is none */
};

void mount_table_release(struct mount_table *t);

/* Reads the table if that was never done.  0 or a negative errno. */
int mount_table_look(struct mount_table *t);

/* Reads it again and tells what changed, in an order in which it could have
 * happened.  0 or a negative errno; then changes may have been missed. */
int mount_table_update(struct mount_table *t,
		       void (*tell)(void *ctx, const struct mount_change *c),
		       void *ctx);

/* Tells of mounts that show, before the run, what is seen elsewhere as well, and of
 * those below them: of each tree one place keeps its names, that of `cwd` if it can
 * be.  Most systems have none.  0 or a negative errno. */
int mount_table_tell_aliases(const char *cwd,
			     void (*tell)(void *ctx,
					  const struct mount_change *c),
			     void *ctx);

/* For those who hear of mounts late, when they may be gone: notes that `root` of the
 * file system `dev` was mounted at `point`.  Fills in `ret`, whose path2 is written to
 * `alias`.  0 or -ENOMEM. */
int mount_table_note(struct mount_table *t, uint64_t dev, const char *root,
		     const char *point, struct str *alias,
		     struct mount_change *ret);

/* Where `root` of that file system is mounted beside `point`; NULL when that is
 * nowhere, or at several places. */
const char *mount_table_other(const struct mount_table *t, uint64_t dev,
			      const char *root, const char *point);

/* Does the kernel repeat elsewhere in our view what is mounted at `point`, or unmounted
 * there?  The directory may be seen in another mount of the same peer group, or in one
 * that gets its mounts from it.  Looks at the mounts as they are now; true when they
 * cannot be read. */
bool mount_is_propagated(const char *point);

/* The last mount at `point` is gone. */
void mount_table_forget(struct mount_table *t, const char *point);

#endif
