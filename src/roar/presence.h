/* presence.h - does a file still hold the content that was recorded?
 *
 * One stat(2) answers nearly always: inode, size and mtime as recorded mean the
 * same content, another size means another.  The device number is left out, for
 * it may change with a reboot.  In between (copied back, touched, checked out
 * again) only the content can tell; it is read when it is small enough for the
 * caller's budget, and the answer is "unverified" when it is not. */
#ifndef ROAR_PRESENCE_H
#define ROAR_PRESENCE_H

#include <stdint.h>

struct store;
struct store_file;

enum presence {
	PRESENCE_PRESENT,
	PRESENCE_CHANGED,
	PRESENCE_MISSING,
	PRESENCE_UNVERIFIED, /* same size, other stamp, too much to read */
	PRESENCE_END,
};

enum {
	PRESENCE_GLANCE = 4 << 20, /* bytes `status` reads in all, at most */
	PRESENCE_LOOK = 256 << 20, /* bytes `show` of one artifact reads */
};

/* Looks at row->path.  *budget, in bytes, shrinks by what was read. */
enum presence presence_check(struct store *s, const struct store_file *row,
			     uint64_t *budget);

/* "present", "changed", "missing", "unverified". */
const char *presence_word(enum presence p);

#endif
