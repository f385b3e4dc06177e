/* blob_disk_read.c - large files that are read from a directory */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blob/blob_disk.h"

struct disk_reader {
	struct blob_reader base;
	int fd; /* through the page cache */
	int direct; /* O_DIRECT; -1: the file system refuses that */
	uint64_t size_bytes;
	char name[];
};

void blob_disk_close_reader(struct blob_reader *reader)
{
	struct disk_reader *r = (struct disk_reader *)reader;

	closep(&r->fd);
	closep(&r->direct);
	free(r);
}

/* A name has at most one directory.  Neither that nor the file may be a symbolic link,
 * which could lead out of the store. */
int blob_disk_open_file(const struct blob_store *s, const char *name)
{
	const char *slash = strchr(name, '/');
	CLEANUP(freep) char *dir = NULL;
	CLEANUP(closep) int dirfd = -1;
	int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	int fd;

	if (slash) {
		dir = strndup(name, (size_t)(slash - name));
		if (!dir)
			return -ENOMEM;
		dirfd = openat(blob_disk_fd(s), dir,
			       O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (dirfd < 0)
			return -errno;
	}
	fd = openat(slash ? dirfd : blob_disk_fd(s), slash ? slash + 1 : name,
		    flags);
	return fd < 0 ? -errno : fd;
}

static int open_regular(const struct blob_store *s, const char *name,
			struct stat *ret_st)
{
	CLEANUP(closep) int fd = blob_disk_open_file(s, name);

	if (fd < 0)
		return fd;
	if (fstat(fd, ret_st) < 0)
		return -errno;
	if (!S_ISREG(ret_st->st_mode))
		return S_ISDIR(ret_st->st_mode) ? -EISDIR : -EINVAL;
	return TAKE_FD(fd);
}

/* The same file by another descriptor, whatever its name has become. */
static int open_direct(int fd)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
}

int blob_disk_open_reader(struct blob_store *s, const char *name,
			  enum blob_read_flags flags, struct blob_reader **ret,
			  uint64_t *ret_size_bytes, struct roar_error *err)
{
	size_t len = strlen(name) + 1;
	struct disk_reader *r;
	struct stat st;
	int fd = open_regular(s, name, &st);

	if (fd < 0)
		return blob_disk_fail(s, name, "read", fd, err);
	r = malloc(sizeof(*r) + len);
	if (!r) {
		(void)close(fd);
		return -ENOMEM;
	}
	*r = (struct disk_reader){ .base = { s },
				   .fd = fd,
				   .direct = -1,
				   .size_bytes = (uint64_t)st.st_size };
	memcpy(r->name, name, len);
	if (!(flags & BLOB_READ_CACHED))
		r->direct = open_direct(fd);
	*ret = &r->base;
	*ret_size_bytes = r->size_bytes;
	return 0;
}

/* How many of the bytes can be read past the page cache: whole blocks, if offset and buffer
 * are aligned.  The rest of a file, less than a block, goes through the cache. */
static size_t direct_len(const struct disk_reader *r, uint64_t offset,
			 const void *buf, size_t len)
{
	if (r->direct < 0 || offset % BLOB_ALIGN || (uintptr_t)buf % BLOB_ALIGN)
		return 0;
	return len - len % BLOB_ALIGN;
}

int blob_disk_read(struct blob_reader *reader, uint64_t offset, void *buf,
		   size_t len, struct roar_error *err)
{
	struct disk_reader *r = (struct disk_reader *)reader;
	char *to = buf;

	while (len) {
		size_t direct = direct_len(r, offset, to, len);
		ssize_t n = pread(direct ? r->direct : r->fd, to,
				  direct ? direct : len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		/* Refused only now: go on through the page cache. */
		if (n < 0 && errno == EINVAL && direct)
			n = pread(r->fd, to, len, (off_t)offset);
		if (n < 0)
			return blob_disk_fail(reader->store, r->name, "read",
					      -errno, err);
		if (n == 0)
			return error_set(err, -ENODATA,
					 "'%s/%s' is truncated: it ends before "
					 "byte %llu",
					 reader->store->url, r->name,
					 (unsigned long long)(offset + len));
		to += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}
