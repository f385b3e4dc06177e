/* path_cache.h - files of the system whose canonical name is known.
 *
 * Every program that starts opens the same few files by the same names: itself, its
 * loader, /etc/ld.so.cache, the C library.  To find a canonical name takes up to seven
 * system calls.  To verify a known one takes two: the name leads to the same file as
 * the canonical name, which is not a link.  One call is enough if the file has the same
 * stamp as before: then no name of the file was removed, renamed or added since,
 * because that changes its ctime.
 *
 * The entry would still be wrong if a directory above the file was replaced by a link,
 * or the name now leads to another hard link of the file.  So only files in the
 * directories where systems keep their programs are cached.  Changes by the run itself
 * are noticed (resolver_forget()), and other changes take effect after a tenth of a
 * second. */
#ifndef ROAR_TRACE_CALL_PATH_CACHE_H
#define ROAR_TRACE_CALL_PATH_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/stamp.h"
#include "base/str.h"
#include "trace/call/tracee.h"

enum { PATH_CACHE_SLOTS = 16 };

struct path_cache {
	struct path_cache_file {
		struct str name; /* as named; empty: none */
		struct str path; /* canonical */
		struct stamp stamp; /* of the file; none if the file is so young
				     * that it may change without a new stamp */
		int64_t seen_ns; /* when the entry was verified */
	} files[PATH_CACHE_SLOTS];
};

void path_cache_forget(struct path_cache *k);
void path_cache_release(struct path_cache *k);

/* Is the absolute `name` a known file for `t`?  Then `out` is its canonical name and
 * `ret` its current stat. */
bool path_cache_find(struct path_cache *k, int64_t now_ns,
		     const struct tracee *t, const char *name, size_t len,
		     struct str *out, struct stat *ret);

/* Adds the result of a lookup: `name` is the file `path`, with this stat. */
void path_cache_add(struct path_cache *k, int64_t now_ns,
		    const struct tracee *t, const char *name, size_t len,
		    const struct str *path, const struct stat *st);

#endif
