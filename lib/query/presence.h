/* presence.h - does a file still hold the content that was recorded?
 *
 * One stat(2) answers nearly always: inode, size and mtime as recorded mean the
 * same content, another size means another.  The device number is left out, for
 * it may change with a reboot.  In between (copied back, touched, checked out
 * again) only the content can tell; what the user's cache does not know is read when
 * it is small enough for the budget, and the answer is "unverified" when it is not. */
#ifndef ROAR_QUERY_PRESENCE_H
#define ROAR_QUERY_PRESENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "hash/file/stability.h"

struct digest_cache;
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

/* What a row of questions shares. */
struct presence_look {
	uint64_t budget; /* bytes that may still be read */
	bool cache_tried;
	struct digest_cache *cache; /* opened when it is first needed */
	struct stability stability;
};

void presence_look_release(struct presence_look *look);

/* Looks at row->path. */
enum presence presence_check(struct presence_look *look,
			     const struct store_file *row);

/* "present", "changed", "missing", "unverified". */
const char *presence_word(enum presence p);

#endif
