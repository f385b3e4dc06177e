/* recipe_place.h - where recorded names lie in the directory of a reproduction.
 *
 * Names are recorded as absolute paths.  The roots are the directories whose content a
 * reproduction makes again: work trees, and the directories of commands outside of one.
 * The deepest directory that holds all roots, the base, becomes the new directory.  So a
 * single root becomes that directory itself, and several keep their relative places.
 *
 * A record may come from somebody else.  ".." is folded before a name is compared with a
 * root, and "/" is never a root. */
#ifndef ROAR_REPRODUCE_RECIPE_PLACE_H
#define ROAR_REPRODUCE_RECIPE_PLACE_H

#include <stddef.h>

#include "base/str.h"

struct pool;

struct recipe_roots {
	const char *base; /* NULL: there is no root */
	const char **dirs;
	size_t n;
};

/* The roots among `n` directories; texts are copied to the pool.  0 or -ENOMEM. */
int recipe_roots_find(struct pool *pool, const char *const *dirs, size_t n,
		      struct recipe_roots *ret);

/* The place of a recorded path, relative to the new directory: "." for itself.  *ret is
 * NULL for a path outside of all roots.  0 or -ENOMEM. */
int recipe_place(const struct recipe_roots *roots, struct pool *pool,
		 const char *path, const char **ret);

/* One directory of the record, and what it is now. */
struct recipe_change {
	const char *from;
	const char *to;
};

/* Appends `word`, an argument or a variable, with the directories of `changes` replaced
 * where they begin a path: in "/p/x", "--out=/p/x", "-I/p", "cat /p/x>/p/y", not in
 * "a/p/x" or "/px".  Of several the longest one counts.  Returns 1 if the word has text
 * besides one path, so that it may be shell code, and something was replaced; else 0. */
int recipe_place_word(const struct recipe_change *changes, size_t n,
		      const char *word, struct str *out);

#endif
