/* engine_near.c - a file by its folder; see engine_internal.h
 *
 * The folder is opened for the second file in a row that is in it: for one alone that
 * would cost more than it saves. */
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "hash/engine_internal.h"

void near_release(struct near *near)
{
	closep(&near->fd);
	*near = (struct near){ .fd = -1 };
}

static bool is_same_folder(const struct near *near, const char *path,
			   size_t len)
{
	return near->path && near->len == len &&
	       memcmp(near->path, path, len) == 0;
}

static int open_folder(const struct near *near)
{
	CLEANUP(freep) char *folder = strndup(near->path, near->len);

	return folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
}

/* A folder that cannot be opened is tried again with the next file; meanwhile the whole
 * path says what is wrong. */
int near_find(struct near *near, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) + 1 : 0;

	*ret_name = path;
	if (!slash || !slash[1])
		return AT_FDCWD;
	if (!is_same_folder(near, path, len)) {
		near_release(near);
		near->path = path;
		near->len = len;
		return AT_FDCWD;
	}
	if (near->fd < 0)
		near->fd = open_folder(near);
	if (near->fd < 0)
		return AT_FDCWD;
	*ret_name = path + len;
	return near->fd;
}
