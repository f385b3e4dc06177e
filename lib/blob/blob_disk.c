/* blob_disk.c - a directory as a store, and large files that are written to it
 *
 * Blocks bypass the page cache (O_DIRECT), because a checkpoint is larger than what is worth
 * keeping there, and copying it once more would cost as much as writing it.  Threads write
 * them, not io_uring: so `roar run` sees the writes like those of any program. */
#include "blob/blob_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event/note.h"

enum { PARALLEL = 8 };

struct disk_writer {
	struct blob_writer base;
	int fd;
	char name[];
};

int blob_disk_fail(const struct blob_store *s, const char *name,
		   const char *action, int r, struct roar_error *err)
{
	return error_set(err, r, "cannot %s '%s/%s': %s", action, s->url, name,
			 strerror(-r));
}

int blob_disk_make_dir(struct blob_store *s, const char *name,
		       struct roar_error *err)
{
	const char *slash = strchr(name, '/');
	CLEANUP(freep) char *dir = NULL;

	if (!slash)
		return 0;
	dir = strndup(name, (size_t)(slash - name));
	if (!dir)
		return -ENOMEM;
	if (mkdirat(blob_disk_fd(s), dir, 0777) == 0 || errno == EEXIST)
		return 0;
	return blob_disk_fail(s, dir, "make the directory", -errno, err);
}

/* ---- the store ---- */

static void disk_close(struct blob_store *s)
{
	struct blob_disk *d = (struct blob_disk *)s;

	closep(&d->fd);
	free(d);
}

static size_t disk_block_bytes(const struct blob_store *s, uint64_t size_bytes)
{
	(void)s;
	(void)size_bytes;
	return BLOB_BLOCK;
}

static unsigned disk_parallel(const struct blob_store *s)
{
	(void)s;
	return PARALLEL;
}

/* Makes a directory and those above it. */
static int make_path(const char *path)
{
	CLEANUP(freep) char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	for (char *p = copy + 1; *p; p++)
		if (*p == '/') {
			*p = '\0';
			(void)mkdir(copy, 0777);
			*p = '/';
		}
	return mkdir(copy, 0777) == 0 || errno == EEXIST ? 0 : -errno;
}

int blob_dirfd(const struct blob_store *s)
{
	return blob_is_local(s) ? blob_disk_fd(s) : -1;
}

/* ---- large files ---- */

static struct disk_writer *writer_of(struct blob_writer *w)
{
	return (struct disk_writer *)w;
}

static void writer_free(struct disk_writer *w)
{
	closep(&w->fd);
	free(w);
}

/* Some file systems refuse O_DIRECT. */
static int open_new(int dirfd, const char *name)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	int fd = openat(dirfd, name, flags | O_DIRECT, 0666);

	if (fd < 0 && errno == EINVAL) {
		/* The file may be there although its flags were refused. */
		(void)unlinkat(dirfd, name, 0);
		fd = openat(dirfd, name, flags, 0666);
	}
	return fd < 0 ? -errno : fd;
}

/* Reserved space makes blocks fast and a full disk known before the first one. */
static int reserve(int fd, uint64_t size_bytes)
{
	int r;

	if (!size_bytes)
		return 0;
	do {
		r = fallocate(fd, 0, 0, (off_t)size_bytes) < 0 ? -errno : 0;
	} while (r == -EINTR);
	return r == -EOPNOTSUPP || r == -ENOSYS ? 0 : r;
}

static int disk_create(struct blob_store *s, const char *name,
		       uint64_t size_bytes, struct blob_writer **ret,
		       struct roar_error *err)
{
	size_t len = strlen(name) + 1;
	struct disk_writer *w;
	int r = blob_disk_make_dir(s, name, err);
	int fd;

	if (r < 0)
		return r;
	fd = open_new(blob_disk_fd(s), name);
	if (fd < 0)
		return blob_disk_fail(s, name, "create", fd, err);
	w = malloc(sizeof(*w) + len);
	if (!w) {
		(void)close(fd);
		(void)unlinkat(blob_disk_fd(s), name, 0);
		return -ENOMEM;
	}
	*w = (struct disk_writer){ .base = { .store = s }, .fd = fd };
	memcpy(w->name, name, len);
	r = reserve(fd, size_bytes);
	if (r < 0) {
		r = blob_disk_fail(s, name, "reserve space for", r, err);
		blob_abandon(&w->base);
		return r;
	}
	*ret = &w->base;
	return 0;
}

/* A file system may take O_DIRECT at open and refuse it at the first write. */
static int drop_direct(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || !(flags & O_DIRECT))
		return -EINVAL;
	return fcntl(fd, F_SETFL, flags & ~O_DIRECT) < 0 ? -errno : 0;
}

static int write_all(int fd, uint64_t offset, const char *buf, size_t len)
{
	while (len) {
		ssize_t n = pwrite(fd, buf, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EINVAL && drop_direct(fd) == 0)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		/* What was cut within a page would be refused. */
		if ((size_t)n < len)
			n -= n % BLOB_ALIGN;
		if (n == 0)
			return -ENOSPC;
		buf += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

static int disk_write(struct blob_writer *writer, uint64_t offset,
		      const void *buf, size_t len, struct roar_error *err)
{
	struct disk_writer *w = writer_of(writer);
	size_t padded = (len + BLOB_ALIGN - 1) / BLOB_ALIGN * BLOB_ALIGN;
	int r = write_all(w->fd, offset, buf, padded);

	return r < 0 ? blob_disk_fail(writer->store, w->name, "write", r, err) :
		       0;
}

static void disk_abandon(struct blob_writer *writer)
{
	struct disk_writer *w = writer_of(writer);

	(void)unlinkat(blob_disk_fd(writer->store), w->name, 0);
	writer_free(w);
}

static int disk_finish(struct blob_writer *writer, uint64_t size_bytes,
		       struct roar_error *err)
{
	struct disk_writer *w = writer_of(writer);
	int r = 0;

	if (ftruncate(w->fd, (off_t)size_bytes) < 0 || fsync(w->fd) < 0)
		r = blob_disk_fail(writer->store, w->name, "write", -errno,
				   err);
	/* Without the report, the run hashes the file. */
	if (r == 0 && writer->has_digest)
		(void)note_digest_report(w->fd, writer->blake3);
	/* Some network file systems report a failed write at the close. */
	if (r == 0 && close(TAKE_FD(w->fd)) < 0 && errno != EINTR)
		r = blob_disk_fail(writer->store, w->name, "write", -errno,
				   err);
	if (r < 0)
		disk_abandon(writer);
	else
		writer_free(w);
	return r;
}

static const struct blob_ops disk_ops = {
	.is_local = true,
	.close = disk_close,
	.block_bytes = disk_block_bytes,
	.parallel = disk_parallel,
	.create = disk_create,
	.write = disk_write,
	.finish = disk_finish,
	.abandon = disk_abandon,
	.open_reader = blob_disk_open_reader,
	.read = blob_disk_read,
	.close_reader = blob_disk_close_reader,
	.put = blob_disk_put,
	.get = blob_disk_get,
	.make_durable = blob_disk_make_durable,
	.list = blob_disk_list,
	.remove = blob_disk_remove,
};

int blob_disk_open(const char *path, bool create, struct blob_store **ret,
		   struct roar_error *err)
{
	struct blob_disk *d = calloc(1, sizeof(*d));
	int r = d ? 0 : -ENOMEM;

	if (r == 0 && create)
		r = make_path(path);
	if (r == 0) {
		d->base.ops = &disk_ops;
		d->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (d->fd < 0)
			r = -errno;
	}
	if (r < 0) {
		free(d);
		return error_set(err, r, "cannot open the directory '%s': %s",
				 path, strerror(-r));
	}
	*ret = &d->base;
	return 0;
}
