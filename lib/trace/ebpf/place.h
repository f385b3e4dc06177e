/* place.h - from the words of a record to canonical paths.
 *
 * Opened files come with the place the kernel has for them, and so do names it has
 * looked up itself: they are plain names below the directory they are in, and need no
 * look.  Other names come as they were given and are looked up here: later than the
 * call, so the directories on the way may have changed since (translate_name.c finds
 * out).  Looks are remembered, and forgotten when a record tells of a change of names.
 * Where a directory is gone already, that part of the name is taken as it was written,
 * unless it has "..". */
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

/* Something happened to a name: what was looked up may not hold any more. */
void places_forget(struct places *p);

/* Directories of the run; best effort. */
void places_note_dir(struct places *p, const struct str *path);
bool places_is_dir(const struct places *p, const struct str *path);

/* Adds the path that a base of a record stands for (see wire.h).  "" is the root.
 * False when the bytes are no base. */
bool place_add_base(struct str *out, const char *base, size_t len);

/* The canonical form of `name`, read from `base` (a path; "" the root); its last
 * component is kept as it is.  -ENOENT when it cannot be told any more,
 * -ENAMETOOLONG when it is longer than the kernel takes. */
int place_name(struct places *p, const struct str *base, const char *name,
	       struct str *out);

/* Follows symbolic links in the last component, where there are any. */
void place_follow(struct str *path);

#endif
