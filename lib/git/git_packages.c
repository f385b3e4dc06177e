/* git_packages.c - see git_packages.h */
#include "git/git_packages.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "git/git_status.h"

static const char *const names[] = { "site-packages", "dist-packages",
				     "node_modules" };

static bool is_name(const char *s, size_t len, const char *name)
{
	return len == strlen(name) && memcmp(s, name, len) == 0;
}

/* The directory that this file proves to be an environment: its length, 0 for none.
 * The tree itself is the user's, whatever it contains. */
static size_t proves(const struct git_change *change)
{
	const char *s = change->path;
	const char *end = s + change->len;

	while (s < end) {
		const char *slash = memchr(s, '/', (size_t)(end - s));
		size_t len = slash ? (size_t)(slash - s) : (size_t)(end - s);
		size_t before = (size_t)(s - change->path);

		if (before &&
		    is_name(s, len, slash ? "conda-meta" : "pyvenv.cfg"))
			return before - 1;
		s += len + 1;
	}
	return 0;
}

static int find_environments(struct git_status *status, struct map *dirs)
{
	for (size_t i = 0; i < status->n_changes; i++) {
		const struct git_change *change = &status->changes[i];
		size_t n = change->untracked ? proves(change) : 0;

		if (n &&
		    map_set(dirs, change->path, n, (void *)change->path) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The length of the outermost directory of packages in the path; 0 for none.  The last
 * component is the file itself and does not count. */
static size_t folder_of(const struct git_change *change,
			const struct map *environments, bool *ret_bytecode)
{
	const char *path = change->path;
	size_t start = 0;

	*ret_bytecode = false;
	for (size_t i = 0; i < change->len; i++) {
		if (path[i] != '/')
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			if (is_name(path + start, i - start, names[k]))
				return i;
		if (is_name(path + start, i - start, "__pycache__")) {
			*ret_bytecode = true;
			return i;
		}
		if (map_get(environments, path, i))
			return i;
		start = i + 1;
	}
	return 0;
}

/* Puts the directory in the place of the first file below it; 0 when it is already
 * listed. */
static int put_folder(struct git_status *status, struct map *folders,
		      struct git_change *change, size_t len)
{
	char *dir;

	if (map_get(folders, change->path, len))
		return 0;
	dir = pool_dup(&status->pool, change->path, len + 1); /* with "/" */
	if (!dir || map_set(folders, dir, len, dir) < 0)
		return -ENOMEM;
	change->path = dir;
	change->len = (uint32_t)len + 1;
	change->packages = true;
	return 1;
}

int git_packages_fold(struct git_status *status)
{
	CLEANUP(map_release) struct map environments = MAP_INIT;
	CLEANUP(map_release) struct map folders = MAP_INIT;
	size_t kept = 0;
	int r = find_environments(status, &environments);

	for (size_t i = 0; i < status->n_changes && r >= 0; i++) {
		struct git_change change = status->changes[i];
		bool bytecode = false;
		size_t len = 0;

		r = 1;
		if (change.untracked)
			len = folder_of(&change, &environments, &bytecode);
		if (bytecode)
			r = 0;
		else if (len)
			r = put_folder(status, &folders, &change, len);
		if (r == 1)
			status->changes[kept++] = change;
		else
			status->n_untracked--;
	}
	if (r < 0)
		return r;
	status->n_changes = kept;
	return 0;
}
