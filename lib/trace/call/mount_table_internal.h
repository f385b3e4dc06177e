/* mount_table_internal.h - what the files of the mount table share. */
#ifndef ROAR_TRACE_CALL_MOUNT_TABLE_INTERNAL_H
#define ROAR_TRACE_CALL_MOUNT_TABLE_INTERNAL_H

#include "trace/call/mount_table.h"

/* The callback that receives changes. */
struct mount_telling {
	void (*tell)(void *ctx, const struct mount_change *c);
	void *ctx;
};

/* Reads /proc/self/mountinfo into an empty table.  0 or a negative errno. */
int mount_table_read(struct mount_table *t);

/* The name of the root of `row` below `old`; false when it has none, or `old` is not
 * kept. */
bool mount_row_name_below(const struct mount_row *old,
			  const struct mount_row *row, struct str *out);

struct mount_change mount_row_change(enum event_kind kind,
				     const struct mount_row *row);

bool mount_same_file(const char *a, const char *b);

#endif
