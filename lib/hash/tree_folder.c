/* tree_folder.c - see tree_folder.h */
#include "hash/tree_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/pool.h"
#include "base/str.h"
#include "hash/file_hash.h"
#include "hash/tree_walk.h"

enum { WINDOW = 4096 }; /* files hashed at a time: their names are copied */

struct reader {
	const char *folder;
	const struct engine_options *options;
	struct tree *tree;
	int error; /* the first of a name, of the walk or of a file */
	void (*tell)(void *ctx, const char *path, int error);
	void *ctx;
};

static void note(void *ctx, const char *path, int error)
{
	struct reader *reader = ctx;

	if (reader->error == 0)
		reader->error = error;
	if (reader->tell)
		reader->tell(reader->ctx, path, error);
}

/* The path is too long for a system call, so the file is read while its folder is
 * open.  Should a FIFO be in its place by now, the open does not wait for a writer and
 * file_hash_fd() refuses it. */
static int read_deep(struct reader *reader, const struct tree_found *found)
{
	CLEANUP(closep)
	int fd = openat(found->dirfd, found->name,
			O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
				O_NOCTTY);
	struct file_hash hash;
	int r = fd < 0 ? -errno :
			 file_hash_fd(fd, DIGEST_SET_BLAKE3, NULL, NULL, &hash);

	if (r < 0) {
		note(reader, found->path, r);
		return 0;
	}
	r = tree_add_file(reader->tree, found->path, found->len, &hash.stamp);
	if (r == 0)
		tree_set_digest(reader->tree, tree_count(reader->tree) - 1,
				hash.digests.blake3, NULL);
	return r;
}

static int add_file(struct reader *reader, const struct tree_found *found)
{
	if (strlen(reader->folder) + found->len + 2 > PATH_MAX)
		return read_deep(reader, found);
	return tree_add_file(reader->tree, found->path, found->len,
			     &found->stamp);
}

static int read_link(struct reader *reader, const struct tree_found *found)
{
	char target[PATH_MAX + 1];
	ssize_t n = readlinkat(found->dirfd, found->name, target,
			       sizeof(target));

	if (n < 0 || n == sizeof(target)) {
		note(reader, found->path, n < 0 ? -errno : -ENAMETOOLONG);
		return 0;
	}
	return tree_add_link(reader->tree, found->path, found->len, target,
			     (size_t)n);
}

static int read_leaf(void *ctx, const struct tree_found *found)
{
	if (found->kind == TREE_LINK)
		return read_link(ctx, found);
	return add_file(ctx, found);
}

/* ---- hashing ---- */

struct window {
	struct engine_file files[WINDOW];
	size_t leaves[WINDOW]; /* which they are */
	size_t n;
	struct pool names;
};

/* What the walk saw, and nothing that was put in its place. */
static void settle(struct reader *reader, const struct engine_file *file,
		   size_t leaf)
{
	const struct tree_leaf *l = tree_leaf(reader->tree, leaf);

	if (file->result < 0)
		note(reader, l->path, file->result);
	else if (!stamp_same_file(&file->hash.stamp, &l->stamp))
		note(reader, l->path, -ESTALE);
	else
		tree_set_digest(reader->tree, leaf, file->hash.digests.blake3,
				&file->hash.stamp);
}

static int hash_window(struct reader *reader, struct window *w)
{
	int r = engine_run(w->files, w->n, reader->options);

	for (size_t i = 0; r == 0 && i < w->n; i++)
		settle(reader, &w->files[i], w->leaves[i]);
	pool_release(&w->names);
	w->n = 0;
	return r;
}

static int add_to_window(struct reader *reader, struct window *w, size_t leaf)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	const struct tree_leaf *l = tree_leaf(reader->tree, leaf);

	str_addf(&path, "%s/", reader->folder);
	str_add(&path, l->path, l->len);
	if (str_error(&path) < 0)
		return -ENOMEM;
	w->files[w->n] = (struct engine_file){
		.path = pool_dup(&w->names, path.data, path.len),
	};
	if (!w->files[w->n].path)
		return -ENOMEM;
	w->leaves[w->n++] = leaf;
	return w->n == WINDOW ? hash_window(reader, w) : 0;
}

static int hash_files(struct reader *reader)
{
	CLEANUP(freep) struct window *w = calloc(1, sizeof(*w));
	int r = w ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < tree_count(reader->tree); i++)
		if (!tree_leaf(reader->tree, i)->hashed)
			r = add_to_window(reader, w, i);
	if (r == 0)
		r = hash_window(reader, w);
	if (w)
		pool_release(&w->names);
	return r;
}

int tree_folder_read(const char *path, const struct engine_options *options,
		     void (*error)(void *ctx, const char *path, int error),
		     void *ctx, struct tree **ret)
{
	CLEANUP(tree_freep) struct tree *t = NULL;
	struct reader reader = { .folder = path,
				 .options = options,
				 .tell = error,
				 .ctx = ctx };
	const struct tree_visitor visitor = { read_leaf, note, &reader };
	int r = tree_new(&t);

	if (r < 0)
		return r;
	reader.tree = t;
	r = tree_walk(AT_FDCWD, path, &visitor);
	/* What is in the way is told of all files, not of the first alone. */
	if (r == 0 || (reader.error < 0 && r == reader.error))
		r = hash_files(&reader);
	if (r == 0)
		r = reader.error;
	if (r == 0)
		*ret = TAKE_PTR(t);
	return r;
}
