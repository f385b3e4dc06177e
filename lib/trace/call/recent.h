/* recent.h - names of regular files that the run has recently created.
 *
 * A small set of 64-bit hashes.  A name has eight slots, one cache line, with the
 * youngest first.  When all are occupied a new name evicts the oldest, which then costs
 * one more lstat().  With half as many names as slots, fewer than one in forty is
 * evicted.  The set is cleared when a name or a permission changes, and from time to
 * time.  It saves that lstat() for files that are written, read back and removed. */
#ifndef ROAR_TRACE_CALL_RECENT_H
#define ROAR_TRACE_CALL_RECENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECENT_WAYS = 8, RECENT_SETS = 2048 };

struct recent {
	bool used; /* anything in it? */
	int64_t since_ns; /* start of the era */
	uint64_t era; /* entries of other eras are ignored */
	uint64_t sets[RECENT_SETS][RECENT_WAYS]; /* 0: empty */
};

void recent_add(struct recent *r, const char *path, size_t len);
bool recent_has(const struct recent *r, const char *path, size_t len);
void recent_remove(struct recent *r, const char *path, size_t len);
void recent_clear(struct recent *r);

/* Clears the set when its entries are too old at `now_ns`. */
void recent_age(struct recent *r, int64_t now_ns);

#endif
