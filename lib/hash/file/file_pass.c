/* file_pass.c - see file_pass.h */
#include "hash/file/file_pass.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

/* The pass of each thread; `local_key` frees it, and is written once, by make_key(). */
static _Thread_local struct file_pass *local_pass;
static pthread_key_t local_key;
static int local_key_error;
static pthread_once_t local_once = PTHREAD_ONCE_INIT;

static void pass_free(void *p)
{
	struct file_pass *pass = p;

	multihash_release(&pass->hash);
	free(pass);
	local_pass = NULL;
}

static void make_key(void)
{
	local_key_error = pthread_key_create(&local_key, pass_free);
}

/* The key is there for its destructor, the thread-local for its speed. */
struct file_pass *file_pass_local(void)
{
	struct file_pass *p = local_pass;

	if (p)
		return p;
	(void)pthread_once(&local_once, make_key);
	if (local_key_error)
		return NULL;
	p = malloc(sizeof(*p));
	if (!p)
		return NULL;
	multihash_init(&p->hash);
	if (pthread_setspecific(local_key, p)) {
		free(p);
		return NULL;
	}
	return local_pass = p;
}

static int check_type(const struct stat *st)
{
	if (S_ISDIR(st->st_mode))
		return -EISDIR;
	return S_ISREG(st->st_mode) ? 0 : -EINVAL;
}

/* The time is read before the stamp and belongs to the first one: from then on
 * a write moves mtime away from a stamp that is not racy at that time.  It is the
 * time of the last tick, as in stamps (stamp_is_of_tick()).  Taken after the last
 * read it would miss a write that fell into the tick of the stamp while we were
 * reading. */
int file_pass_look(struct file_pass *p, int dirfd, const char *path)
{
	return file_pass_look_at(p, dirfd, path, clock_now_tick_ns());
}

int file_pass_look_at(struct file_pass *p, int dirfd, const char *path,
		      int64_t now_ns)
{
	struct stat st;

	p->taken_ns = now_ns;
	if (fstatat(dirfd, path, &st, 0) < 0)
		return -errno;
	p->dirfd = dirfd;
	p->path = path;
	p->fd = -1;
	p->stamp = stamp_of(&st);
	return check_type(&st);
}

int file_pass_look_fd(struct file_pass *p, int fd)
{
	struct stat st;

	p->taken_ns = clock_now_tick_ns();
	if (fstat(fd, &st) < 0)
		return -errno;
	p->path = NULL;
	p->fd = fd;
	p->stamp = stamp_of(&st);
	return check_type(&st);
}

/* O_NONBLOCK and O_NOCTTY are for a name that became a FIFO or a terminal since
 * we looked; ENXIO is a socket there.  The read-ahead hint is given only to a
 * descriptor of ours: one that was lent may share its state with a process
 * that reads in another pattern. */
static int open_path(struct file_pass *p)
{
	p->fd = openat(p->dirfd, p->path,
		       O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (p->fd < 0)
		return errno == ENXIO ? -EINVAL : -errno;
	if (p->stamp.size > PASS_BUFFER)
		(void)posix_fadvise(p->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return 0;
}

int file_pass_start(struct file_pass *p, digest_set want)
{
	int r = multihash_start(&p->hash, want, p->stamp.size);

	if (r < 0)
		return r;
	p->offset = 0;
	p->n_tries = 1;
	return p->path ? open_path(p) : 0;
}

/* What has no offsets is no regular file: it took the place of one. */
static ssize_t read_at(int fd, void *data, size_t len, uint64_t offset)
{
	for (;;) {
		ssize_t n = pread(fd, data, len, (off_t)offset);

		if (n >= 0)
			return n;
		if (errno != EINTR)
			return errno == ESPIPE ? -EINVAL : -errno;
	}
}

/* The end of the file, or what looks like it: the result counts if the stamp is
 * the one from before the first read and promised exactly these bytes.
 * Otherwise the new stamp begins the next try. */
int file_pass_settle(struct file_pass *p, struct file_hash *ret)
{
	int64_t taken_ns = clock_now_tick_ns();
	struct stamp stamp;
	struct stat st;
	int r;

	r = fd_stat(p->fd, &st);
	if (r == 0)
		r = check_type(&st);
	if (r < 0)
		return r;
	stamp = stamp_of(&st);
	if (p->offset == p->stamp.size && stamp_equal(&stamp, &p->stamp)) {
		ret->stamp = stamp;
		ret->taken_ns = p->taken_ns;
		return multihash_final(&p->hash, &ret->digests);
	}
	if (p->n_tries++ == PASS_TRIES)
		return -EAGAIN;
	p->stamp = stamp;
	p->taken_ns = taken_ns;
	p->offset = 0;
	r = multihash_start(&p->hash, p->hash.want, stamp.size);
	return r < 0 ? r : 1;
}

/* Asking for one byte more than the stamp promises shows growth, and the end of
 * a small file, without a second read.  Files whose size is made up (/proc)
 * never fit their stamp and end as files that do not hold still. */
int file_pass_step(struct file_pass *p, _Atomic uint64_t *n_bytes,
		   struct file_hash *ret)
{
	uint64_t left = p->stamp.size - p->offset;
	size_t ask = left < PASS_BUFFER ? (size_t)left + 1 : PASS_BUFFER;
	ssize_t n = read_at(p->fd, p->buffer, ask, p->offset);

	if (n < 0)
		return (int)n;
	if (n_bytes)
		atomic_fetch_add_explicit(n_bytes, (uint64_t)n,
					  memory_order_relaxed);
	p->offset += (uint64_t)n;
	if (n == 0 || (uint64_t)n > left)
		return file_pass_settle(p, ret);
	multihash_update(&p->hash, p->buffer, (size_t)n);
	if (p->offset < p->stamp.size || (size_t)n == ask)
		return 1;
	return file_pass_settle(p, ret);
}

void file_pass_end(struct file_pass *p)
{
	if (p->path && p->fd >= 0)
		(void)close(p->fd);
	p->fd = -1;
}
