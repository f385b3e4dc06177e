/* path_cache.h - files of the system whose canonical name is known.
 *
 * Every program that starts opens the same few files by the same names: itself, its
 * loader, /etc/ld.so.cache, the C library.  To find a canonical name takes up to
 * seven calls, to see that a known one is still right two: the name leads to the
 * same file as the canonical one, which is no link.  One is enough if the name leads
 * to a file of the same stamp as then: nobody has removed a name from it, renamed it
 * or given it another one since, because that changes its ctime.  Wrong it would be
 * all the same if somebody put a link in place of a directory above it, or led the name to
 * another hard link of the file.  So only what lies where systems keep their
 * programs is kept; what the run does itself is noticed (resolver_forget()), and
 * the rest is believed for a tenth of a second. */
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
		struct stamp stamp; /* of the file; none if it is so young that
				     * it may change without a sign */
		int64_t seen_ns; /* when that was found out */
	} files[PATH_CACHE_SLOTS];
};

void path_cache_forget(struct path_cache *k);
void path_cache_release(struct path_cache *k);

/* Is the absolute `name` a known file to `t`?  Then `out` is its canonical name and
 * `ret` its stat, of now. */
bool path_cache_find(struct path_cache *k, int64_t now_ns,
		     const struct tracee *t, const char *name, size_t len,
		     struct str *out, struct stat *ret);

/* `name` was found to be the file `path`, with this stat. */
void path_cache_add(struct path_cache *k, int64_t now_ns,
		    const struct tracee *t, const char *name, size_t len,
		    const struct str *path, const struct stat *st);

#endif
