/* enclosure.c - see enclosure.h */
#include "reproduce/enclosure.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "hash/file/file_hash.h"

enum { NAME_BYTES = 256, LINK_BYTES = 4096, COPY_BYTES = 1 << 26 };

/* The next name of *path, which moves past it.  -EINVAL for one that is not plain. */
static int take_name(const char **path, char name[NAME_BYTES])
{
	size_t len = strcspn(*path, "/");

	if (len >= NAME_BYTES)
		return -ENAMETOOLONG;
	memcpy(name, *path, len);
	name[len] = '\0';
	if (!len || !strcmp(name, ".") || !strcmp(name, ".."))
		return -EINVAL;
	*path += len;
	/* Another name has to follow a slash. */
	if (**path == '/' && !*++*path)
		return -EINVAL;
	return 0;
}

static int open_below(int dirfd, const char *name, bool make)
{
	int fd;

	if (make && mkdirat(dirfd, name, 0777) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(dirfd, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* O_DIRECTORY says so of a link. */
	return fd >= 0 ? fd : errno == ENOTDIR ? -ELOOP : -errno;
}

int enclosure_open_dir(int dirfd, const char *place, bool make)
{
	CLEANUP(closep) int fd = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
	char name[NAME_BYTES];

	if (fd < 0)
		return -errno;
	if (!strcmp(place, "."))
		return TAKE_FD(fd);
	if (!*place)
		return -EINVAL;
	while (*place) {
		int r = take_name(&place, name);
		int next = r < 0 ? r : open_below(fd, name, make);

		if (next < 0)
			return next;
		(void)close(fd);
		fd = next;
	}
	return TAKE_FD(fd);
}

/* Opens the directory that holds `place`; *ret_name is the last name. */
static int open_parent(int dirfd, const char *place, bool make,
		       const char **ret_name)
{
	const char *slash = strrchr(place, '/');
	CLEANUP(freep) char *dir = NULL;

	*ret_name = slash ? slash + 1 : place;
	if (!**ret_name || !strcmp(*ret_name, ".") || !strcmp(*ret_name, ".."))
		return -EINVAL;
	if (!slash)
		return enclosure_open_dir(dirfd, ".", make);
	dir = strndup(place, (size_t)(slash - place));
	return dir ? enclosure_open_dir(dirfd, dir, make) : -ENOMEM;
}

int enclosure_make_parents(int dirfd, const char *place)
{
	const char *name;
	int fd = open_parent(dirfd, place, true, &name);

	return fd < 0 ? fd : close(fd);
}

/* ---- files ---- */

static int open_regular(int dirfd, const char *name)
{
	CLEANUP(closep)
	int fd = openat(dirfd, name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? TAKE_FD(fd) : -EINVAL;
}

int enclosure_open_file(int dirfd, const char *place)
{
	const char *name;
	CLEANUP(closep) int parent = open_parent(dirfd, place, false, &name);

	return parent < 0 ? parent : open_regular(parent, name);
}

int enclosure_remove(int dirfd, const char *place)
{
	const char *name;
	CLEANUP(closep) int parent = open_parent(dirfd, place, false, &name);

	if (parent == -ENOENT)
		return 0;
	if (parent < 0)
		return parent;
	return unlinkat(parent, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

static int hash_link(int dirfd, const char *name, struct digests *ret)
{
	char text[LINK_BYTES];
	ssize_t n = readlinkat(dirfd, name, text, sizeof(text));

	if (n < 0)
		return -errno;
	*ret = (struct digests){ 0 };
	return digest_buffer(text, (size_t)n, DIGEST_SET_BLAKE3, ret);
}

int enclosure_hash(int dirfd, const char *place, struct digests *ret,
		   bool *ret_is_link)
{
	const char *name;
	CLEANUP(closep) int parent = open_parent(dirfd, place, false, &name);
	CLEANUP(closep) int fd = -1;
	struct file_hash hash;
	int r;

	if (parent < 0)
		return parent;
	fd = open_regular(parent, name);
	if (ret_is_link)
		*ret_is_link = fd == -ELOOP;
	if (fd == -ELOOP)
		return hash_link(parent, name, ret);
	if (fd < 0)
		return fd;
	r = file_hash_fd(fd, DIGEST_SET_BLAKE3, NULL, NULL, &hash);
	if (r == 0)
		*ret = hash.digests;
	return r;
}

/* ---- copies ---- */

static int copy_bytes(int from, int to)
{
	off_t offset = 0;
	char buffer[64 * 1024];
	ssize_t n;

	if (ioctl(to, FICLONE, from) == 0)
		return 0;
	while ((n = copy_file_range(from, &offset, to, NULL, COPY_BYTES, 0)) > 0)
		continue;
	if (n == 0)
		return 0;
	/* Some file systems do not do it. */
	while ((n = pread(from, buffer, sizeof(buffer), offset)) > 0) {
		for (ssize_t done = 0; done < n;) {
			ssize_t w = write(to, buffer + done,
					  (size_t)(n - done));

			if (w < 0 && errno != EINTR)
				return -errno;
			done += w > 0 ? w : 0;
		}
		offset += n;
	}
	return n < 0 ? -errno : 0;
}

static int copy_to(int parent, const char *temporary, int from, mode_t mode,
		   const uint8_t blake3[BLAKE3_LEN])
{
	CLEANUP(closep)
	int to = openat(parent, temporary,
			O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);
	struct file_hash hash;
	int r;

	if (to < 0)
		return -errno;
	r = copy_bytes(from, to);
	if (r == 0)
		r = file_hash_fd(to, DIGEST_SET_BLAKE3, NULL, NULL, &hash);
	if (r == 0 && memcmp(hash.digests.blake3, blake3, BLAKE3_LEN) != 0)
		r = -ESTALE;
	if (r == 0 && fchmod(to, mode) < 0)
		r = -errno;
	return r;
}

int enclosure_copy(int dirfd, const char *place, int from, mode_t mode,
		   const uint8_t blake3[BLAKE3_LEN])
{
	char temporary[64];
	const char *name;
	CLEANUP(closep) int parent = open_parent(dirfd, place, true, &name);
	int r;

	if (parent < 0)
		return parent;
	(void)snprintf(temporary, sizeof(temporary), ".roar-input-%d",
		       (int)getpid());
	r = copy_to(parent, temporary, from, mode, blake3);
	if (r == 0 && renameat(parent, temporary, parent, name) < 0)
		r = -errno;
	if (r < 0 && r != -EEXIST)
		(void)unlinkat(parent, temporary, 0);
	return r;
}
