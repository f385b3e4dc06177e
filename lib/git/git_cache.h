/* git_cache.h - what the last query saw, on disk.
 *
 * One file per project, replaced as a whole:
 *
 *	"ROARGL2\n"  checksum(8, FNV-1a of the rest)
 *	context(8)  index stamp(40)
 *	n_modified(4) n_untracked(4) dirty(4, enum tri)
 *	ref, commit, snapshot, note: length(4) bytes
 *	left out: all(4) named(4), each: reason(4) length(4) path
 *	n_watches(4), each: stamp(40) length(4) path
 *
 * Integers have the machine's byte order: the stamps are not valid elsewhere.  An
 * absent string has length 0xffffffff.  A file with any error counts as missing. */
#ifndef ROAR_GIT_CACHE_H
#define ROAR_GIT_CACHE_H

#include <stdint.h>

#include "base/stamp.h"
#include "base/tri.h"
#include "git/git_left_out.h"
#include "git/git_watch.h"

struct str;

struct git_cache {
	uint64_t context; /* hash of options and environment of the query */
	struct stamp index; /* ino 0: there was none */
	uint32_t n_modified, n_untracked;
	enum tri dirty;
	char *ref; /* NULL: detached */
	char *commit; /* NULL: none yet */
	char *snapshot;
	char *note;
	struct git_left_outs left_out;
	struct git_watches watches;
};

void git_cache_release(struct git_cache *cache);

/* Reads the file.  -ENOENT when there is none, -EBADMSG when it is damaged. */
int git_cache_load(const char *path, struct git_cache *ret_cache);

/* Writes it, atomically, with mode 0600. */
int git_cache_save(const char *path, const struct git_cache *cache);

/* The same from and to memory. */
int git_cache_parse(const void *data, size_t len, struct git_cache *ret_cache);
int git_cache_format(const struct git_cache *cache, struct str *out);

#endif
