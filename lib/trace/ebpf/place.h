/* place.h - makes canonical paths from the strings of a record.
 *
 * Opened files come with the path that the kernel has for them, and so do names that
 * the kernel side has resolved: they are plain names in their directory.  Other names
 * come as they were given and are resolved here, later than the call, so directories on
 * the way may have changed since (translate_name.c finds out).  Results are cached, and
 * dropped when a record reports a change of names.  If a directory does not exist any
 * more, that part of the name is taken as it was written, unless it has "..". */
#ifndef ROAR_TRACE_EBPF_PLACE_H
#define ROAR_TRACE_EBPF_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/pool.h"
#include "base/str.h"

struct places {
	struct map dirs; /* directory as named -> struct place_text */
	struct pool dirs_pool;
	struct map made; /* directories the run has made or moved */
	struct pool names_pool;
	struct str scratch;
};

void places_release(struct places *p);

/* A name has changed: drops the cached results. */
void places_forget(struct places *p);

/* Directories that the run has made or moved; best effort. */
void places_note_dir(struct places *p, const struct str *path);
bool places_is_dir(const struct places *p, const struct str *path);

/* Adds the path of a base of a record (see wire.h).  "" is the root.  False when the
 * bytes are not a valid base. */
bool place_add_base(struct str *out, const char *base, size_t len);

/* The canonical form of `name`, read from `base` (a path; "" the root); its last
 * component is kept as it is.  -ENOENT when it cannot be found out any more,
 * -ENAMETOOLONG when it is longer than the kernel allows. */
int place_name(struct places *p, const struct str *base, const char *name,
	       struct str *out);

/* Follows symbolic links in the last component, where there are any. */
void place_follow(struct str *path);

#endif
