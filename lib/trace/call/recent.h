/* recent.h - names of regular files that the run has lately created.
 *
 * A small set of 64-bit hashes.  A name has eight places, a cache line, where the
 * youngest stands first; when all are taken it pushes out the oldest, which then
 * costs one look at the file again.  With half as many names as there are places
 * that happens to hardly one in forty.  Emptied when anything is renamed or rights
 * change, and every now and then.  What it saves is that look, for files that are
 * written, read back and removed. */
#ifndef ROAR_TRACE_CALL_RECENT_H
#define ROAR_TRACE_CALL_RECENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECENT_WAYS = 8, RECENT_SETS = 2048 };

struct recent {
	bool used; /* anything in it? */
	int64_t since_ns; /* begin of the era */
	uint64_t era; /* what was added in another one is forgotten */
	uint64_t sets[RECENT_SETS][RECENT_WAYS]; /* 0: empty */
};

void recent_add(struct recent *r, const char *path, size_t len);
bool recent_has(const struct recent *r, const char *path, size_t len);
void recent_remove(struct recent *r, const char *path, size_t len);
void recent_clear(struct recent *r);

/* Time passes: what was seen long ago is not believed any more. */
void recent_age(struct recent *r, int64_t now_ns);

#endif
