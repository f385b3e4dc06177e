/* sample_source.c - see sample_source.h */
#include "reader/sample_source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/macros.h"

/* ---- schemes ---- */

/* Schemes that people use; what is registered is some of them. */
static struct {
	const char *name;
	const struct source_ops *ops;
} schemes[] = { { "s3", NULL }, { "gs", NULL } };

/* The place of a path in the table; -1: it has no scheme. */
static int scheme_of(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		size_t len = strlen(schemes[i].name);

		if (strncmp(path, schemes[i].name, len) == 0 &&
		    strncmp(path + len, "://", 3) == 0)
			return (int)i;
	}
	return -1;
}

void source_register(const char *scheme, const struct source_ops *ops)
{
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (strcmp(schemes[i].name, scheme) == 0)
			schemes[i].ops = ops;
}

bool source_is_remote(const char *path)
{
	return scheme_of(path) >= 0;
}

static int open_remote(const struct source_ops *ops, const char *path,
		       struct source *ret, struct roar_error *err)
{
	struct source s = { .fd = -1, .ops = ops, .path = path };
	int r;

	if (!ops)
		return error_set(err, -ENOTSUP,
				 "'%s' is in object storage, which this build "
				 "of roar cannot read; fetch it to a local file",
				 path);
	r = ops->open(path, &s.stamp, &s.data, err);
	if (r == 0)
		*ret = s;
	return r;
}

/* ---- interruption ---- */

static _Thread_local bool (*interrupt)(void);

void source_set_interrupt(bool (*is_interrupted)(void))
{
	interrupt = is_interrupted;
}

bool source_is_interrupted(void)
{
	return interrupt && interrupt();
}

/* ---- sources ---- */

static int open_file(const char *path, struct source *ret,
		     struct roar_error *err)
{
	/* O_NONBLOCK: a fifo without a writer is refused, not waited for. */
	CLEANUP(closep)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fd_stat(fd, &st) < 0)
		return error_set(err, -errno, "cannot open '%s': %s", path,
				 strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(err, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL,
				 "'%s' is %s: name a regular file", path,
				 S_ISDIR(st.st_mode) ? "a directory" :
						       "no regular file");
	*ret = (struct source){ .fd = TAKE_FD(fd),
				.path = path,
				.stamp = stamp_of(&st) };
	return 0;
}

int source_open(const char *path, struct source *ret, struct roar_error *err)
{
	int i = scheme_of(path);

	return i < 0 ? open_file(path, ret, err) :
		       open_remote(schemes[i].ops, path, ret, err);
}

void source_close(struct source *s)
{
	if (s->ops)
		s->ops->close(s->data);
	closep(&s->fd);
	*s = SOURCE_INIT;
}

bool source_is_open(const struct source *s)
{
	return s->ops || s->fd >= 0;
}

int source_copy(const struct source *s, const char *path, struct source *ret,
		struct roar_error *err)
{
	int fd;

	if (s->ops) {
		*ret = *s;
		ret->path = path;
		ret->data = s->ops->hold(s->data);
		return 0;
	}
	fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return error_set(err, -errno, "cannot open '%s' again: %s",
				 path, strerror(errno));
	*ret = (struct source){ .fd = fd, .path = path, .stamp = s->stamp };
	return 0;
}

static int say_shorter(const struct source *s, uint64_t end,
		       struct roar_error *err)
{
	return error_set(
		err, -ESTALE,
		"'%s' became shorter while it was read: it had %" PRIu64 " "
		"bytes and now ends before byte %" PRIu64 "; read it when no "
		"process writes to it",
		s->path, s->stamp.size, end);
}

int source_read(const struct source *s, uint64_t offset, void *to, size_t len,
		struct roar_error *err)
{
	size_t done = 0;

	if (s->ops && (offset > s->stamp.size || len > s->stamp.size - offset))
		return say_shorter(s, offset + len, err);
	if (s->ops)
		return len ? s->ops->read(s->data, offset, to, len, err) : 0;
	while (done < len) {
		ssize_t n = pread(s->fd, (char *)to + done, len - done,
				  (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set(err, -errno, "cannot read '%s': %s",
					 s->path, strerror(errno));
		if (n == 0)
			return say_shorter(s, offset + len, err);
		done += (size_t)n;
	}
	return 0;
}

int source_readv(const struct source *s, uint64_t offset,
		 const struct iovec *to, int n, struct roar_error *err)
{
	ssize_t got = s->ops ? 0 : preadv(s->fd, to, n, (off_t)offset);
	size_t done = got > 0 ? (size_t)got : 0;
	int error = 0;

	/* What is missing, and why, is found out place by place. */
	for (int i = 0; error == 0 && i < n; i++) {
		size_t have = done < to[i].iov_len ? done : to[i].iov_len;

		error = source_read(s, offset + have,
				    (char *)to[i].iov_base + have,
				    to[i].iov_len - have, err);
		offset += to[i].iov_len;
		done -= have;
	}
	return error;
}

void source_expect(const struct source *s, uint64_t offset, size_t len)
{
	if (s->ops && len && offset <= s->stamp.size &&
	    len <= s->stamp.size - offset)
		s->ops->expect(s->data, offset, len);
}

bool source_is_cached(const struct source *s, uint64_t offset)
{
	char byte;
	struct iovec to = { &byte, 1 };

	if (s->ops)
		return s->ops->is_cached(s->data, offset);
	return preadv2(s->fd, &to, 1, (off_t)offset, RWF_NOWAIT) == 1;
}

int source_check(const struct source *s, struct roar_error *err)
{
	struct stamp now;
	struct stat st;

	if (s->ops)
		return 0;
	if (fd_stat(s->fd, &st) < 0)
		return error_set(err, -errno, "cannot stat '%s': %s", s->path,
				 strerror(errno));
	now = stamp_of(&st);
	if (now.size < s->stamp.size)
		return say_shorter(s, s->stamp.size, err);
	if (now.size != s->stamp.size || now.mtime_ns != s->stamp.mtime_ns)
		return error_set(err, -ESTALE,
				 "'%s' changed while it was read; read it when "
				 "no process writes to it",
				 s->path);
	return 0;
}
