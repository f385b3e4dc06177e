/* inherited.c - see inherited.h */
#include "trace/inherited.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/vec.h"

DEFINE_CLEANUP(DIR *, closedir)

static bool is_kept_file(int fd)
{
	struct stat st;
	int flags;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	flags = fcntl(fd, F_GETFD);
	return flags >= 0 && !(flags & FD_CLOEXEC);
}

void inherited_find(struct inherited *in)
{
	CLEANUP(closedirp) DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	in->error = dir ? 0 : -errno;
	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);
		int *slot;

		if (entry->d_name[0] == '.' || !is_kept_file(fd))
			continue;
		slot = VEC_PUSH(in->fds, in->n, in->cap);
		if (!slot) {
			in->error = -ENOMEM;
			return;
		}
		*slot = fd;
	}
}

void inherited_release(struct inherited *in)
{
	free(in->fds);
	*in = (struct inherited){ 0 };
}
