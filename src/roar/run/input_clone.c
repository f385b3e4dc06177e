/* input_clone.c - see input_clone.h */
#include "run/input_clone.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"

static int clone_by_kernel(int to, int from)
{
	return ioctl(to, FICLONE, from) < 0 ? -errno : 0;
}

static bool has_stamp(int fd, const struct stamp *expected)
{
	struct stamp stamp;
	struct stat st;

	if (fd_stat(fd, &st) < 0)
		return false;
	stamp = stamp_of(&st);
	return stamp_equal(&stamp, expected);
}

static int clone_into(const struct input_cloner *c, int dirfd, const char *dir,
		      int from, int *ret_fd)
{
	CLEANUP(closep)
	int fd = openat(dirfd, dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = c->clone ? c->clone(fd, from) : clone_by_kernel(fd, from);
	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int clone_beside(const struct input_cloner *c, const char *path,
			int from, int *ret_fd)
{
	CLEANUP(str_release) struct str dir = STR_INIT;

	str_add(&dir, path, (size_t)(path_basename(path) - path));
	if (str_error(&dir) < 0)
		return -ENOMEM;
	return clone_into(c, AT_FDCWD, dir.len ? dir.data : ".", from, ret_fd);
}

int input_clone_make(struct input_cloner *c, int dirfd, const char *path,
		     const struct stamp *now, int *ret_fd)
{
	CLEANUP(closep) int from = -1;
	CLEANUP(closep) int fd = -1;
	int r;

	if (c->refused && c->dev == now->dev)
		return -EOPNOTSUPP;
	from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (from < 0)
		return -errno;
	if (!has_stamp(from, now))
		return -ESTALE;
	r = clone_into(c, dirfd, ".", from, &fd);
	if (r == -EXDEV)
		r = clone_beside(c, path, from, &fd);
	if (r == -EOPNOTSUPP || r == -ENOTTY || r == -EINVAL) {
		c->refused = true;
		c->dev = now->dev;
		return -EOPNOTSUPP;
	}
	if (r < 0)
		return r;
	/* Somebody who does not wait for us may have written meanwhile. */
	if (!has_stamp(from, now))
		return -ESTALE;
	*ret_fd = TAKE_FD(fd);
	return 0;
}
