/* fd.c - see fd.h */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/str.h"

/* Where long has 64 bits, the kernel and the C library mean the same struct. */
int fd_stat(int fd, struct stat *ret)
{
#if defined(SYS_fstat) && defined(__LP64__)
	return syscall(SYS_fstat, fd, ret) < 0 ? -errno : 0;
#else
	return fstat(fd, ret) < 0 ? -errno : 0;
#endif
}

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
			O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
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

	/* Containers that share the folder may have equal pids. */
	str_addf(&temp, "%s.%ld-%lld.tmp", path, (long)getpid(),
		 (long long)clock_now_ns());
	r = str_error(&temp);
	if (r < 0)
		return r;
	r = write_new(dirfd, temp.data, data, len, mode);
	if (r == -EEXIST)
		return r; /* not ours to remove */
	if (r == 0 && renameat(dirfd, temp.data, dirfd, path) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlinkat(dirfd, temp.data, 0);
		return r;
	}
	sync_parent(dirfd, path);
	return 0;
}

/* ---- messages ---- */

int fd_send(int to, const void *data, size_t len, int fd, int flags)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(fd))] = { 0 };
	struct iovec iov = { (void *)data, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (fd >= 0) {
		struct cmsghdr *c = (struct cmsghdr *)control;

		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	do {
		n = sendmsg(to, &m, flags | MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EMSGSIZE;
}

/* Takes the first descriptor of the control part and closes all others.  Returns
 * how many there were. */
static unsigned take_descriptors(struct msghdr *m, int *ret_fd)
{
	unsigned count = 0;

	*ret_fd = -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (count++ == 0)
				*ret_fd = fd;
			else
				(void)close(fd);
		}
	}
	return count;
}

ssize_t fd_receive(int from, void *data, size_t len, int flags, int *ret_fd)
{
	/* Where one fits, alignment leaves room for a second: with more than that
	 * the kernel drops some, and says so. */
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	CLEANUP(closep) int fd = -1;
	struct iovec iov = { data, len };
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	unsigned n_fds;
	ssize_t n;

	do {
		n = recvmsg(from, &m, flags | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	n_fds = take_descriptors(&m, &fd);
	if (n_fds > 1 || m.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return -EBADMSG;
	/* An empty packet looks like the end of the line, and is one. */
	*ret_fd = n > 0 ? TAKE_FD(fd) : -1;
	return n;
}
