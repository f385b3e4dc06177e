/* partial_file.c - see partial_file.h */
#include "transfer/partial_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/str.h"
#include "hash/blake3/b3.h"
#include "hash/digest/digest.h"

void partial_file_name(struct str *out, const char *path)
{
	uint8_t digest[BLAKE3_LEN];
	char hex[33];

	b3_hash(path, strlen(path), digest);
	digest_hex(hex, digest, 16);
	path_dirname(out, path);
	str_addf(out, "/.roar-%s.part", hex);
}

static int make_parents(const char *path)
{
	CLEANUP(freep) char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	for (char *p = strchr(copy + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(copy, 0777) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return 0;
}

static int open_or_create(const char *name, mode_t mode)
{
	int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
	int fd = open(name, flags, mode);
	int r;

	if (fd >= 0 || errno != ENOENT)
		return fd < 0 ? -errno : fd;
	r = make_parents(name);
	if (r < 0)
		return r;
	fd = open(name, flags, mode);
	return fd < 0 ? -errno : fd;
}

/* Is it still the file of that name?  Another transfer may have renamed or removed it before
 * the lock was ours. */
static bool has_name(int fd, const char *name)
{
	struct stat opened, named;

	return fstat(fd, &opened) == 0 && lstat(name, &named) == 0 &&
	       opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

int partial_file_open(const char *name, mode_t mode)
{
	for (;;) {
		CLEANUP(closep) int fd = open_or_create(name, mode);

		if (fd < 0)
			return fd;
		/* A file system without locks has no better answer. */
		if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
			return -EBUSY;
		if (has_name(fd, name))
			return TAKE_FD(fd);
	}
}

int partial_file_rename(const char *name, const char *path, bool replaces)
{
	if (!replaces &&
	    renameat2(AT_FDCWD, name, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
		return 0;
	/* Not every file system can do that. */
	if (!replaces && errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (!replaces && access(path, F_OK) == 0)
		return -EEXIST;
	return rename(name, path) < 0 ? -errno : 0;
}
