/* fd.c - see fd.h */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"

int fd_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t fd_read_all(int fd, void *data, size_t len)
{
	char *p = data;
	size_t got = 0;

	while (got < len) {
		ssize_t n = read(fd, p + got, len - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

int fd_read_file(int dirfd, const char *path, size_t max, struct str *out)
{
	CLEANUP(closep) int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	size_t total = 0;

	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t n;

		if (str_reserve(out, 4096) < 0)
			return -ENOMEM;
		n = fd_read_all(fd, out->data + out->len,
				out->cap - out->len - 1);
		if (n <= 0 || (size_t)n > max - total) {
			out->data[out->len] = '\0';
			return n > 0 ? -EFBIG : (int)n;
		}
		total += (size_t)n;
		out->len += (size_t)n;
		out->data[out->len] = '\0';
	}
}

static int write_new(int dirfd, const char *name, const void *data, size_t len,
		     mode_t mode)
{
	CLEANUP(closep)
	int fd = openat(dirfd, name,
			O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
			mode);
	int r;

	if (fd < 0)
		return -errno;
	if (fchmod(fd, mode) < 0)
		return -errno;
	r = fd_write_all(fd, data, len);
	if (r < 0)
		return r;
	return fsync(fd) < 0 ? -errno : 0;
}

/* Makes the rename itself durable.  Some file systems cannot sync a directory;
 * the content is safe there all the same. */
static void sync_parent(int dirfd, const char *path)
{
	CLEANUP(str_release) struct str dir = STR_INIT;
	CLEANUP(closep) int fd = -1;

	path_dirname(&dir, path);
	fd = openat(dirfd, str_cstr(&dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		(void)fsync(fd);
}

int fd_replace_file(int dirfd, const char *path, const void *data, size_t len,
		    mode_t mode)
{
	CLEANUP(str_release) struct str temp = STR_INIT;
	int r;

	str_addf(&temp, "%s.%ld.tmp", path, (long)getpid());
	r = str_error(&temp);
	if (r < 0)
		return r;
	r = write_new(dirfd, temp.data, data, len, mode);
	if (r == 0 && renameat(dirfd, temp.data, dirfd, path) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlinkat(dirfd, temp.data, 0);
		return r;
	}
	sync_parent(dirfd, path);
	return 0;
}
