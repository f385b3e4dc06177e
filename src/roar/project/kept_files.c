/* kept_files.c - see kept_files.h */
#include "project/kept_files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

static int check_room(struct kept_files *k, uint64_t size)
{
	uint64_t n;
	int r;

	if (size > k->config->objects_max_file_size)
		return KEPT_FILES_TOO_LARGE;
	if (k->config->objects_max_size == UINT64_MAX)
		return 0;
	if (!k->has_total) {
		r = keep_total(k->dirfd, &k->n_total, &n);
		if (r < 0)
			return r;
		k->has_total = true;
	}
	if (k->n_total + size > k->config->objects_max_size)
		return KEPT_FILES_FULL;
	return 0;
}

int kept_files_open(const char *path, struct stat *ret)
{
	CLEANUP(closep)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	if (fd_stat(fd, ret) < 0)
		return -errno;
	return S_ISREG(ret->st_mode) ? TAKE_FD(fd) : -EINVAL;
}

int kept_files_add(struct kept_files *k, const char *path,
		   const uint8_t blake3[BLAKE3_LEN], uint64_t *ret_size_bytes,
		   enum keep_how *ret_how)
{
	bool is_new = !keep_has(k->dirfd, blake3, NULL);
	CLEANUP(closep) int fd = -1;
	struct stat st = { 0 };
	int r = 0;

	fd = kept_files_open(path, &st);
	if (fd < 0)
		return fd;
	if (is_new)
		r = check_room(k, (uint64_t)st.st_size);
	if (r == 0)
		r = keep_add(k->dirfd, fd, blake3, ret_how);
	if (r < 0)
		return r;
	*ret_size_bytes = (uint64_t)st.st_size;
	k->is_changed |= *ret_how != KEEP_PRESENT;
	k->n_total += is_new ? *ret_size_bytes : 0;
	return 0;
}

const char *kept_files_reason(int error)
{
	switch (error) {
	case KEPT_FILES_TOO_LARGE:
		return "it is larger than objects.max_file_size";
	case KEPT_FILES_FULL:
		return "objects.max_size is reached; 'roar objects gc' makes "
		       "room";
	case -ESTALE:
		return "it has changed since it was recorded";
	default:
		return strerror(-error);
	}
}
