/* hash_walk.c - see hash_walk.h */
#include "hash/hash_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "hash/dir/dir_walk.h"

struct walk {
	struct hash_names *names;
	const char *folder;
	struct str path; /* of the name that is added */
	int error; /* -ENOMEM: a name is missing in the list */
};

/* `path` as the user would write it, with an error or to be hashed. */
static int add(struct walk *w, const char *path, int error)
{
	const char *full = NULL;
	int r;

	str_clear(&w->path);
	str_adds(&w->path, w->folder);
	if (path[0] && w->path.len && w->path.data[w->path.len - 1] != '/')
		str_addc(&w->path, '/');
	str_adds(&w->path, path);
	if (str_error(&w->path) == 0)
		full = pool_dup(&w->names->pool, w->path.data, w->path.len);
	r = full ? hash_names_add(w->names, full, error) : -ENOMEM;
	if (r < 0)
		w->error = r;
	return r;
}

static int add_leaf(void *ctx, const struct dir_walk_entry *found)
{
	return found->kind == DIR_WALK_LINK ? 0 : add(ctx, found->path, 0);
}

static void add_error(void *ctx, const char *path, int error)
{
	(void)add(ctx, path, error);
}

static void walk_release(struct walk *w)
{
	str_release(&w->path);
}

int hash_walk(struct hash_names *names, const char *path)
{
	CLEANUP(walk_release)
	struct walk w = { .names = names, .folder = path };
	const struct dir_walk_visitor visitor = { .leaf = add_leaf,
						  .error = add_error,
						  .ctx = &w,
						  .bare = true };
	size_t before = names->n;
	int r = dir_walk(AT_FDCWD, path, &visitor);

	/* The folder itself: all other names have been told. */
	if (r < 0 && r != -ENOMEM && names->n == before)
		(void)add(&w, "", r);
	return r == -ENOMEM ? r : w.error;
}
