/* presence.h - does a file still hold the content that was recorded?
 *
 * One stat(2) usually answers: the recorded inode, size and mtime mean the same
 * content, another size means another content.  The device number is left out because
 * it may change with a reboot.  In other cases (copied back, touched, checked out
 * again) only the content decides: the digest cache is consulted, then the file is read
 * if it is within the budget.  Beyond that the answer is "unverified".  An object of
 * a store is "remote": it is not asked for. */
#ifndef ROAR_QUERY_PRESENCE_H
#define ROAR_QUERY_PRESENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "hash/file/stability.h"

struct digest_cache;
struct pool;
struct store_file;

enum presence {
	PRESENCE_PRESENT,
	PRESENCE_CHANGED,
	PRESENCE_MISSING,
	PRESENCE_UNVERIFIED, /* same size, other stamp, too much to read */
	PRESENCE_REMOTE, /* an object of a store, which is not asked */
	PRESENCE_END,
};

/* State shared by the checks of one command. */
struct presence_look {
	uint64_t budget; /* bytes that may still be read */
	/* Opens the digest cache, on first use; NULL: there is none. */
	int (*open_cache)(struct digest_cache **ret);
	bool cache_tried;
	struct digest_cache *cache;
	struct stability stability;
	/* With a pool each path is looked at once; the rows are borrowed. */
	struct pool *pool;
	struct map sights; /* path -> what was found there */
};

void presence_look_release(struct presence_look *look);

/* Compares the file at row->path with the content of the row. */
enum presence presence_check(struct presence_look *look,
			     const struct store_file *row);

/* "present", "changed", "missing", "unverified". */
const char *presence_word(enum presence p);

#endif
