/* blob_disk_hold.c - locks that say "this is being written"
 *
 * A lock belongs to an open file, so that it ends with the process, however that ends.  Who
 * cleans up takes the lock exclusively before removing the file; a process that has opened
 * the file in between finds that its name is gone, and begins again. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blob/blob_disk.h"

enum { TRIES = 100 };

struct blob_hold {
	struct blob_store *store;
	int fd;
	char name[];
};

static bool is_same_file(int dirfd, const char *name, int fd)
{
	struct stat by_name, by_fd;

	return fstatat(dirfd, name, &by_name, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstat(fd, &by_fd) == 0 && by_name.st_ino == by_fd.st_ino &&
	       by_name.st_dev == by_fd.st_dev;
}

static int open_locked(struct blob_store *s, const char *name,
		       struct roar_error *err)
{
	int dirfd = blob_disk_fd(s);

	for (int i = 0; i < TRIES; i++) {
		CLEANUP(closep) int fd = -1;
		int r = blob_disk_make_dir(s, name, err);

		if (r < 0)
			return r;
		fd = openat(dirfd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
		if (fd < 0 && errno == ENOENT)
			continue; /* another save has removed the directory */
		if (fd < 0)
			return -errno;
		/* A file system without locks: leftovers have an age too. */
		if (flock(fd, LOCK_SH) < 0 && errno != ENOLCK &&
		    errno != EOPNOTSUPP) {
			r = -errno;
			(void)unlinkat(dirfd, name, 0);
			return r;
		}
		if (is_same_file(dirfd, name, fd))
			return TAKE_FD(fd);
	}
	return -EAGAIN;
}

int blob_hold(struct blob_store *s, const char *name, struct blob_hold **ret,
	      struct roar_error *err)
{
	size_t len = strlen(name) + 1;
	CLEANUP(closep) int fd = -1;
	struct blob_hold *h;

	*ret = NULL;
	if (!blob_is_local(s))
		return 0;
	fd = open_locked(s, name, err);
	if (fd < 0)
		return blob_disk_fail(s, name, "lock", fd, err);
	h = malloc(sizeof(*h) + len);
	if (!h)
		return -ENOMEM;
	*h = (struct blob_hold){ .store = s, .fd = TAKE_FD(fd) };
	memcpy(h->name, name, len);
	*ret = h;
	return 0;
}

void blob_release(struct blob_hold *h, bool remove)
{
	if (!h)
		return;
	if (remove)
		(void)unlinkat(blob_disk_fd(h->store), h->name, 0);
	closep(&h->fd);
	free(h);
}

bool blob_is_held(struct blob_store *s, const char *name)
{
	CLEANUP(closep) int fd = -1;

	if (!blob_is_local(s))
		return false;
	fd = openat(blob_disk_fd(s), name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 &&
	       errno == EWOULDBLOCK;
}
