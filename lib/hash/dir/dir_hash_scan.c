/* dir_hash_scan.c - see dir_hash_scan.h */
#include "hash/dir/dir_hash_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/pool.h"
#include "hash/dir/dir_walk.h"
#include "hash/file/file_hash.h"
#include "hash/read/filesystem.h"

enum { WINDOW = 8192 }; /* files hashed at a time: their names are copied */

struct reader {
	const char *folder;
	const struct engine_options *options;
	struct dir_hash *tree;
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
static int read_deep(struct reader *reader, const struct dir_walk_entry *found)
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
	r = dir_hash_add_file(reader->tree, found->path, found->len,
			      &hash.stamp);
	if (r == 0)
		dir_hash_set_digest(reader->tree,
				    dir_hash_count(reader->tree) - 1,
				    hash.digests.blake3, NULL);
	return r;
}

static int add_file(struct reader *reader, const struct dir_walk_entry *found)
{
	if (strlen(reader->folder) + found->len + 2 > PATH_MAX)
		return read_deep(reader, found);
	return dir_hash_add_file(reader->tree, found->path, found->len,
				 &found->stamp);
}

static int read_link(struct reader *reader, const struct dir_walk_entry *found)
{
	char target[PATH_MAX + 1];
	ssize_t n = readlinkat(found->dirfd, found->name, target,
			       sizeof(target));

	if (n < 0 || n == sizeof(target)) {
		note(reader, found->path, n < 0 ? -errno : -ENAMETOOLONG);
		return 0;
	}
	return dir_hash_add_link(reader->tree, found->path, found->len, target,
				 (size_t)n);
}

static int read_leaf(void *ctx, const struct dir_walk_entry *found)
{
	if (found->kind == DIR_WALK_LINK)
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

/* Could a folder have told another inode than the one the file has?  Something may be
 * mounted on it. */
static bool may_differ(const char *path, const struct dir_hash_leaf *l,
		       const struct stamp *hashed)
{
	struct statfs fs;

	return hashed->dev != l->stamp.dev ||
	       (statfs(path, &fs) == 0 &&
		filesystem_has_two_inodes((uint32_t)fs.f_type));
}

/* Is it the file that the walk saw, and nothing that was put in its place?  Where the
 * folder may have told another inode, a careful look tells the same as the engine's. */
static bool is_the_file(const struct reader *reader,
			const struct dir_hash_leaf *l, const char *path,
			const struct stamp *hashed)
{
	struct stamp now;

	if (stamp_same_file(hashed, &l->stamp))
		return true;
	return may_differ(path, l, hashed) &&
	       dir_walk_stat(reader->folder, l->path, &now) == 0 &&
	       stamp_same_file(hashed, &now);
}

static void settle(struct reader *reader, const struct engine_file *file,
		   size_t leaf)
{
	const struct dir_hash_leaf *l = dir_hash_leaf(reader->tree, leaf);

	if (file->result < 0)
		note(reader, l->path, file->result);
	else if (!is_the_file(reader, l, file->path, &file->hash.stamp))
		note(reader, l->path, -ESTALE);
	else
		dir_hash_set_digest(reader->tree, leaf,
				    file->hash.digests.blake3,
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

static char *full_path(struct pool *pool, const char *folder,
		       const struct dir_hash_leaf *l)
{
	size_t len = strlen(folder);
	char *path = pool_alloc(pool, len + 1 + l->len + 1);

	if (!path)
		return NULL;
	memcpy(path, folder, len);
	path[len] = '/';
	memcpy(path + len + 1, l->path, (size_t)l->len + 1);
	return path;
}

static int add_to_window(struct reader *reader, struct window *w, size_t leaf)
{
	w->files[w->n] = (struct engine_file){
		.path = full_path(&w->names, reader->folder,
				  dir_hash_leaf(reader->tree, leaf)),
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

	for (size_t i = 0; r == 0 && i < dir_hash_count(reader->tree); i++)
		if (!dir_hash_leaf(reader->tree, i)->hashed)
			r = add_to_window(reader, w, i);
	if (r == 0)
		r = hash_window(reader, w);
	if (w)
		pool_release(&w->names);
	return r;
}

int dir_hash_scan(const char *path, const struct engine_options *options,
		  void (*error)(void *ctx, const char *path, int error),
		  void *ctx, struct dir_hash **ret)
{
	CLEANUP(dir_hash_freep) struct dir_hash *t = NULL;
	struct reader reader = { .folder = path,
				 .options = options,
				 .tell = error,
				 .ctx = ctx };
	const struct dir_walk_visitor visitor = { .leaf = read_leaf,
						  .error = note,
						  .ctx = &reader,
						  .lazy = true };
	int r = dir_hash_new(&t);

	if (r < 0)
		return r;
	reader.tree = t;
	r = dir_walk(AT_FDCWD, path, &visitor);
	/* What is in the way is told of all files, not of the first alone. */
	if (r == 0 || (reader.error < 0 && r == reader.error))
		r = hash_files(&reader);
	if (r == 0)
		r = reader.error;
	if (r == 0)
		*ret = TAKE_PTR(t);
	return r;
}
