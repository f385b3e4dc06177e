/* dir_walk.c - see dir_walk.h
 *
 * A stack of frames, one for each folder from the top to the one being told.  A
 * folder is read as a whole and its names sorted when its frame is pushed; then
 * they are told one by one.  Frames come and go at the end of the stack, and so
 * do their names in `names` and `entries`, which are never longer than the
 * largest chain of folders needs.
 *
 * Names of folders are kept with a '/' behind them: this makes their order right,
 * tells them from files, and is what the path of their content goes on from.
 *
 * Of the frames the top and the last few have an open descriptor.  On the way
 * back a folder is opened again as the ".." of the one that was left, or from the
 * top name by name if that was moved, and must be the folder it was before. */
#include "hash/dir/dir_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/vec.h"
#include "hash/dir/dir_hash.h"

enum {
	OPEN_FRAMES = 6, /* folders held open, besides the top */
	DIRENTS = 32 * 1024, /* bytes asked from the kernel at once */
	DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY,
};

struct entry {
	size_t name; /* where it is in `names` */
	uint64_t ino; /* as the folder has it */
	uint32_t len; /* with the '/' of a folder */
	uint8_t type; /* DT_REG, ..., or DT_UNKNOWN */
};

struct frame {
	int fd; /* -1: closed for now, or lost */
	dev_t dev;
	ino_t ino;
	size_t path_len; /* of the path with its '/'; 0 for the top */
	size_t first; /* of its entries; they end where the next frame's begin */
	size_t next; /* the entry to tell next */
	size_t names; /* where its names begin */
};

struct walk {
	const struct dir_walk_visitor *visitor;
	int error; /* the first one of a name */
	struct frame *frames;
	size_t n_frames, frames_cap;
	struct entry *entries;
	size_t n_entries, entries_cap;
	struct str names;
	struct str path; /* of the folder, or of what is being told */
	_Alignas(struct dirent64) char dirents[DIRENTS];
};

static void walk_free(struct walk *w)
{
	for (size_t i = 0; i < w->n_frames; i++)
		closep(&w->frames[i].fd);
	free(w->frames);
	free(w->entries);
	str_release(&w->names);
	str_release(&w->path);
	free(w);
}
DEFINE_CLEANUP(struct walk *, walk_free)

static struct frame *last(struct walk *w)
{
	return &w->frames[w->n_frames - 1];
}

static void cut(struct str *s, size_t len)
{
	if (len >= s->len)
		return;
	s->len = len;
	s->data[len] = '\0';
}

/* Remembers and tells an error of what `path` says now. */
static void tell_error(struct walk *w, int error)
{
	if (w->error == 0)
		w->error = error;
	if (w->visitor->error)
		w->visitor->error(w->visitor->ctx, str_cstr(&w->path), error);
}

/* The same for a folder, whose path ends in '/' while it is the last frame. */
static void tell_folder_error(struct walk *w, const struct frame *f, int error)
{
	cut(&w->path, f->path_len ? f->path_len - 1 : 0);
	tell_error(w, error);
	if (f->path_len)
		str_addc(&w->path, '/');
}

/* Reading a folder. */

static bool is_dir(int fd, const struct dirent64 *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

static int add_entry(struct walk *w, int fd, const struct dirent64 *dirent)
{
	const char *name = dirent->d_name;
	struct entry *e;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	e = VEC_PUSH(w->entries, w->n_entries, w->entries_cap);
	if (!e)
		return -ENOMEM;
	e->name = w->names.len;
	str_adds(&w->names, name);
	if (is_dir(fd, dirent))
		str_addc(&w->names, '/');
	e->len = (uint32_t)(w->names.len - e->name);
	e->ino = dirent->d_ino;
	e->type = dirent->d_type;
	return str_error(&w->names);
}

static int add_entries(struct walk *w, int fd, ssize_t len)
{
	const struct dirent64 *dirent;

	for (ssize_t at = 0; at < len; at += dirent->d_reclen) {
		int r;

		dirent = (const void *)(w->dirents + at);
		r = add_entry(w, fd, dirent);
		if (r < 0)
			return r;
	}
	return 0;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct entry *x = a;
	const struct entry *y = b;
	const char *names = arg;
	uint32_t len = x->len < y->len ? x->len : y->len;
	int order = memcmp(names + x->name, names + y->name, len);

	if (order != 0)
		return order;
	return (x->len > y->len) - (x->len < y->len);
}

/* A folder that vanishes is read to some point, and that is told. */
static int read_folder(struct walk *w)
{
	struct frame *f = last(w);
	ssize_t n;

	while ((n = getdents64(f->fd, w->dirents, DIRENTS)) > 0) {
		int r = add_entries(w, f->fd, n);

		if (r < 0)
			return r;
	}
	if (n < 0)
		tell_folder_error(w, f, -errno);
	if (w->n_entries > f->first)
		qsort_r(&w->entries[f->first], w->n_entries - f->first,
			sizeof(*w->entries), compare, w->names.data);
	return 0;
}

/* Going down. */

/* A file system in user space may say that a folder is in itself. */
static bool is_open_above(const struct walk *w, const struct stat *st)
{
	for (size_t i = 0; i < w->n_frames; i++)
		if (w->frames[i].dev == st->st_dev &&
		    w->frames[i].ino == st->st_ino)
			return true;
	return false;
}

static void close_far_frame(struct walk *w)
{
	size_t far = w->n_frames - 1;

	if (far <= OPEN_FRAMES)
		return;
	closep(&w->frames[far - OPEN_FRAMES].fd);
	w->frames[far - OPEN_FRAMES].fd = -1;
}

static int push_frame(struct walk *w, int fd, const struct stat *st)
{
	struct frame *f = VEC_PUSH(w->frames, w->n_frames, w->frames_cap);

	if (!f) {
		(void)close(fd);
		return -ENOMEM;
	}
	*f = (struct frame){
		.fd = fd,
		.dev = st->st_dev,
		.ino = st->st_ino,
		.path_len = w->path.len,
		.first = w->n_entries,
		.next = w->n_entries,
		.names = w->names.len,
	};
	close_far_frame(w);
	return read_folder(w);
}

/* Enters the folder whose name ends `path`. */
static int enter(struct walk *w)
{
	const struct frame *f = last(w);
	CLEANUP(closep)
	int fd = openat(f->fd, w->path.data + f->path_len,
			DIR_FLAGS | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		tell_error(w, -errno);
		return 0;
	}
	if (is_open_above(w, &st)) {
		tell_error(w, -ELOOP);
		return 0;
	}
	str_addc(&w->path, '/');
	if (str_error(&w->path) < 0)
		return -ENOMEM;
	return push_frame(w, TAKE_FD(fd), &st);
}

/* Going up. */

static bool is_folder_of(const struct frame *f, int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == f->dev &&
	       st.st_ino == f->ino;
}

/* Opens the last frame's folder from the top.  The path has a '/' behind each
 * name, in the place of which openat() gets its NUL. */
static int open_from_top(struct walk *w)
{
	CLEANUP(closep) int fd = fcntl(w->frames[0].fd, F_DUPFD_CLOEXEC, 0);

	for (size_t i = 1; i < w->n_frames && fd >= 0; i++) {
		char *end = w->path.data + w->frames[i].path_len - 1;
		int below;

		*end = '\0';
		below = openat(fd, w->path.data + w->frames[i - 1].path_len,
			       DIR_FLAGS | O_NOFOLLOW);
		*end = '/';
		closep(&fd); /* keeps errno */
		fd = below;
	}
	return TAKE_FD(fd);
}

static int open_again(struct walk *w, int below)
{
	struct frame *f = last(w);
	CLEANUP(closep) int fd = -1;

	if (below >= 0)
		fd = openat(below, "..", DIR_FLAGS);
	if (!is_folder_of(f, fd)) {
		closep(&fd);
		fd = open_from_top(w);
		if (fd < 0)
			return -errno;
	}
	if (!is_folder_of(f, fd))
		return -ESTALE;
	f->fd = TAKE_FD(fd);
	return 0;
}

/* Leaves the last folder.  When the one above it is lost, and names in it have
 * not been told yet, that is an error of the folder. */
static void leave(struct walk *w)
{
	struct frame *f = last(w);
	CLEANUP(closep) int below = f->fd;
	int r;

	w->n_entries = f->first;
	cut(&w->names, f->names);
	w->n_frames--;
	if (w->n_frames == 0)
		return;
	f = last(w);
	cut(&w->path, f->path_len);
	r = f->fd < 0 ? open_again(w, below) : 0;
	if (r < 0 && f->next < w->n_entries) {
		tell_folder_error(w, f, r);
		f->next = w->n_entries;
	}
}

/* Telling. */

/* What it is, by a look; 0 or a negative errno. */
static int look_at(struct dir_walk_entry *found, mode_t *ret_mode)
{
	struct stat st;

	if (fstatat(found->dirfd, found->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	*ret_mode = st.st_mode;
	found->stamp = stamp_of(&st);
	return 0;
}

/* The same, by what the folder says where that will do. */
static int find_kind(struct walk *w, const struct entry *e,
		     struct dir_walk_entry *found)
{
	bool looks = e->type == DT_UNKNOWN ||
		     !(w->visitor->bare || w->visitor->lazy);
	mode_t mode = DTTOIF(e->type);
	int r = 0;

	if (looks)
		r = look_at(found, &mode);
	else if (w->visitor->lazy)
		found->stamp = (struct stamp){ .dev = last(w)->dev,
					       .ino = e->ino };
	if (r < 0)
		return r;
	found->kind = S_ISLNK(mode) ? DIR_WALK_LINK : DIR_WALK_FILE;
	if (S_ISDIR(mode))
		return -EISDIR;
	return S_ISREG(mode) || S_ISLNK(mode) ? 0 : -EINVAL;
}

static int tell_leaf(struct walk *w, const struct entry *e)
{
	const struct frame *f = last(w);
	struct dir_walk_entry found = {
		.path = w->path.data,
		.len = w->path.len,
		.dirfd = f->fd,
		.name = w->path.data + f->path_len,
	};
	int r = find_kind(w, e, &found);

	if (r == 0)
		return w->visitor->leaf(w->visitor->ctx, &found);
	tell_error(w, r);
	return 0;
}

static int check_name(const struct walk *w)
{
	size_t folder = w->frames[w->n_frames - 1].path_len;

	if (w->path.len > DIR_HASH_PATH_MAX)
		return -ENAMETOOLONG;
	return w->visitor->bare ? 0 :
				  dir_hash_check_path(w->path.data + folder,
						      w->path.len - folder);
}

static int tell_next(struct walk *w)
{
	struct frame *f = last(w);
	const struct entry *e = &w->entries[f->next++];
	const char *name = w->names.data + e->name;
	bool is_folder = name[e->len - 1] == '/';
	int r;

	cut(&w->path, f->path_len);
	str_add(&w->path, name, is_folder ? e->len - 1 : e->len);
	if (str_error(&w->path) < 0)
		return -ENOMEM;
	r = check_name(w);
	if (r == 0)
		return is_folder ? enter(w) : tell_leaf(w, e);
	tell_error(w, r);
	return 0;
}

static int walk_all(struct walk *w)
{
	int r = 0;

	while (r >= 0 && w->n_frames) {
		if (last(w)->next < w->n_entries)
			r = tell_next(w);
		else
			leave(w);
	}
	return r < 0 ? r : w->error;
}

int dir_walk(int dirfd, const char *path,
	     const struct dir_walk_visitor *visitor)
{
	CLEANUP(closep) int fd = openat(dirfd, path, DIR_FLAGS);
	CLEANUP(walk_freep) struct walk *w = NULL;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->visitor = visitor;
	r = push_frame(w, TAKE_FD(fd), &st);
	return r < 0 ? r : walk_all(w);
}

int dir_walk_stat(const char *top, const char *path, struct stamp *ret)
{
	CLEANUP(closep) int fd = open(top, DIR_FLAGS);
	struct stat st;
	const char *slash;

	while (fd >= 0 && (slash = strchr(path, '/'))) {
		CLEANUP(freep)
		char *name = strndup(path, (size_t)(slash - path));
		int below;

		if (!name)
			return -ENOMEM;
		below = openat(fd, name, DIR_FLAGS | O_NOFOLLOW);
		closep(&fd); /* keeps errno */
		fd = below;
		path = slash + 1;
	}
	if (fd < 0 || fstatat(fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*ret = stamp_of(&st);
	return 0;
}
