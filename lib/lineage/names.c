/* names.c - the table of names and the tree of their directories.
 *
 * A name is found by its path through a table of ordinals.  Every name also
 * hangs in the list of its directory, and every directory in its parent, so
 * that the rename of a directory visits what is below it and nothing else. */
#include "lineage/fold_internal.h"

#include <assert.h>
#include <string.h>

#include "base/vec.h"

enum { CHUNK = 64 };

struct name *names_find_in(const struct fold *fold, const struct layer *layer,
			   const char *path, size_t len)
{
	uint32_t hash = (uint32_t)map_hash(path, len);
	size_t pos = 0;
	uint32_t *at;

	while ((at = index_probe(&layer->by_path, hash, &pos))) {
		struct lineage_file *file = fold->files[*at - 1];

		if (file->path_len == len && memcmp(file->path, path, len) == 0)
			return name_of(file);
	}
	return NULL;
}

struct name *names_find(const struct fold *fold, const char *path, size_t len)
{
	return names_find_in(fold, fold->at, path, len);
}

struct dir *names_dir(const struct fold *fold, const char *path, size_t len)
{
	return map_get(&fold->at->dirs, path, len);
}

/* Bytes of the directory part: "/a" for "/a/b", "" for "/a" and the root. */
static size_t dir_len(const char *path, size_t len)
{
	while (len && path[len - 1] != '/')
		len--;
	return len ? len - 1 : 0;
}

static struct dir *add_dir(struct fold *fold, const char *path, size_t len)
{
	struct dir *dir = pool_zalloc(&fold->structs, sizeof(*dir));

	if (!dir)
		return NULL;
	dir->path = path;
	dir->path_len = (uint32_t)len;
	if (map_set(&fold->at->dirs, path, len, dir) < 0)
		return NULL;
	return dir;
}

/* The directory of that path; it and its unknown parents are added.  A parent
 * is always longer known than its child, so the walk up ends early. */
static struct dir *get_dir(struct fold *fold, const char *path, size_t len)
{
	struct dir *dir = names_dir(fold, path, len);
	struct dir *result = dir;
	struct dir *child = NULL;

	for (;;) {
		bool known = dir;

		if (!known)
			dir = add_dir(fold, path, len);
		if (!dir)
			return NULL;
		if (!result)
			result = dir;
		if (child) {
			child->parent = dir;
			child->sibling = dir->child;
			dir->child = child;
		}
		if (known || len == 0)
			return result;
		child = dir;
		len = dir_len(path, len);
		dir = names_dir(fold, path, len);
	}
}

static struct dir *dir_of(struct fold *fold, const char *path, size_t path_len)
{
	size_t len = dir_len(path, path_len);
	struct dir *dir = fold->at->last_dir;

	if (dir && dir->path_len == len && memcmp(dir->path, path, len) == 0)
		return dir;
	dir = get_dir(fold, path, len);
	if (dir)
		fold->at->last_dir = dir;
	return dir;
}

static struct name *take_name(struct fold *fold)
{
	if (!fold->chunk_left) {
		fold->chunk = pool_zalloc(&fold->structs,
					  CHUNK * sizeof(*fold->chunk));
		if (!fold->chunk)
			return NULL;
		fold->chunk_left = CHUNK;
	}
	fold->chunk_left--;
	return fold->chunk++;
}

/* Everything that can fail comes before the name is put into any list, but for
 * the index, whose entry is added last and makes the name known. */
static struct name *add(struct fold *fold, const char *path, size_t len)
{
	char *text = pool_dup(&fold->text, path, len);
	struct dir *dir = text ? dir_of(fold, text, len) : NULL;
	struct name *name;

	if (!dir || fold->n_files >= NAMES_MAX ||
	    vec_reserve(&fold->files, &fold->cap_files, fold->n_files + 1,
			sizeof(*fold->files)) < 0)
		return NULL;
	name = take_name(fold);
	if (!name ||
	    index_add(&fold->at->by_path, (uint32_t)map_hash(path, len),
		      (uint32_t)fold->n_files) < 0)
		return NULL;
	name->file.path = text;
	name->file.path_len = (uint32_t)len;
	name->ordinal = (uint32_t)fold->n_files & NAMES_MAX;
	name->next = dir->names;
	fold->files[fold->n_files++] = &name->file;
	dir->names = (uint32_t)fold->n_files;
	return name;
}

struct name *names_get(struct fold *fold, const char *path, size_t len,
		       bool *ret_new)
{
	struct name *name;

	assert(fold->at);
	name = names_find(fold, path, len);
	*ret_new = !name;
	return name ? name : add(fold, path, len);
}

static int collect(const struct fold *fold, const struct dir *dir,
		   uint32_t **ordinals, size_t *n, size_t *cap)
{
	const struct name *name;

	for (uint32_t at = dir->names; at; at = name->next) {
		uint32_t *slot;

		name = name_of(fold->files[at - 1]);
		if (name->gone)
			continue;
		slot = VEC_PUSH(*ordinals, *n, *cap);
		if (!slot)
			return -ENOMEM;
		*slot = at - 1;
	}
	return 0;
}

/* Depth first, by the links of the tree: no recursion, however deep. */
int names_below(const struct fold *fold, const struct dir *top,
		uint32_t **ordinals, size_t *n, size_t *cap)
{
	const struct dir *dir = top;

	for (;;) {
		int r = collect(fold, dir, ordinals, n, cap);

		if (r < 0)
			return r;
		if (dir->child) {
			dir = dir->child;
			continue;
		}
		while (dir != top && !dir->sibling)
			dir = dir->parent;
		if (dir == top)
			return 0;
		dir = dir->sibling;
	}
}
