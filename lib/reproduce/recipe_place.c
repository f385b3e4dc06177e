/* recipe_place.c - see recipe_place.h */
#include "reproduce/recipe_place.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/pool.h"

/* ---- roots ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *normal(struct pool *pool, const char *path)
{
	struct str text = STR_INIT;
	const char *copy;

	path_normalize(&text, "/", path);
	copy = str_error(&text) < 0 ? NULL : pool_strdup(pool, text.data);
	str_release(&text);
	return copy;
}

/* The deepest directory that holds both. */
static const char *common(struct pool *pool, const char *a, const char *b)
{
	size_t end = 0;

	for (size_t i = 0;; i++) {
		bool a_ends = a[i] == '/' || !a[i];
		bool b_ends = b[i] == '/' || !b[i];

		if (a_ends && b_ends)
			end = i;
		if (a[i] != b[i] || !a[i])
			break;
	}
	return end ? pool_dup(pool, a, end) : "/";
}

int recipe_roots_find(struct pool *pool, const char *const *dirs, size_t n,
		      struct recipe_roots *ret)
{
	struct recipe_roots roots = { 0 };

	roots.dirs = pool_alloc(pool, (n + 1) * sizeof(*roots.dirs));
	if (!roots.dirs)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const char *dir = normal(pool, dirs[i]);

		if (!dir)
			return -ENOMEM;
		if (dir[0] == '/' && dir[1])
			roots.dirs[roots.n++] = dir;
	}
	qsort(roots.dirs, roots.n, sizeof(*roots.dirs), by_text);
	n = roots.n;
	roots.n = 0;
	for (size_t i = 0; i < n; i++)
		if (!roots.n ||
		    !path_is_under(roots.dirs[i], roots.dirs[roots.n - 1]))
			roots.dirs[roots.n++] = roots.dirs[i];
	for (size_t i = 0; i < roots.n; i++) {
		roots.base = i ? common(pool, roots.base, roots.dirs[i]) :
				 roots.dirs[0];
		if (!roots.base)
			return -ENOMEM;
	}
	*ret = roots;
	return 0;
}

int recipe_place(const struct recipe_roots *roots, struct pool *pool,
		 const char *path, const char **ret)
{
	const char *clean = *path == '/' ? normal(pool, path) : "";
	const char *place = NULL;

	if (!clean)
		return -ENOMEM;
	for (size_t i = 0; i < roots->n && !place; i++)
		if (path_is_under(clean, roots->dirs[i]))
			place = path_relative(clean, roots->base);
	/* Below "/" nothing is cut off. */
	*ret = place && *place == '/' ? place + 1 : place;
	return 0;
}

/* ---- words ---- */

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_.-", c)) ||
	       (unsigned char)c >= 0x80;
}

/* May a path begin at word[at]? */
static bool begins(const char *word, size_t at)
{
	if (at == 0)
		return true;
	if (at >= 3 && strncmp(word + at - 3, "://", 3) == 0)
		return true;
	if (at == 2 && word[0] == '-' && isalpha((unsigned char)word[1]))
		return true;
	return !is_name_char(word[at - 1]) && word[at - 1] != '/';
}

static const struct recipe_change *find(const struct recipe_change *changes,
					size_t n, const char *at)
{
	const struct recipe_change *best = NULL;

	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(changes[i].from);

		if (strncmp(at, changes[i].from, len) == 0 &&
		    !is_name_char(at[len]) &&
		    (!best || len > strlen(best->from)))
			best = &changes[i];
	}
	return best;
}

int recipe_place_word(const struct recipe_change *changes, size_t n,
		      const char *word, struct str *out)
{
	bool changed = false;
	bool mixed = false;

	for (size_t i = 0; word[i];) {
		const struct recipe_change *c = NULL;

		if (word[i] == '/' && begins(word, i))
			c = find(changes, n, word + i);
		if (c) {
			str_adds(out, c->to);
			i += strlen(c->from);
			changed = true;
			continue;
		}
		/* A blank, quote or operator: what is not in a plain path or
		 * "--name=/path". */
		mixed |= !is_name_char(word[i]) && !strchr("/=:,+@%", word[i]);
		str_addc(out, word[i++]);
	}
	return changed && mixed;
}
