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

static bool is_kept_file(int fd)
{
	struct stat st;
	int flags;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	flags = fcntl(fd, F_GETFD);
	return flags >= 0 && !(flags & FD_CLOEXEC);
}

static void add(struct inherited *in, int fd)
{
	int *slot = VEC_PUSH(in->fds, in->n, in->cap);

	if (slot)
		*slot = fd;
	else
		in->error = -ENOMEM;
}

/* Without opendir(): what a short run allocates is a good part of its time. */
void inherited_find(struct inherited *in)
{
	CLEANUP(closep)
	int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_Alignas(struct dirent64) char buf[2048];
	ssize_t n;

	while ((n = dir < 0 ? -1 : getdents64(dir, buf, sizeof(buf))) > 0) {
		const struct dirent64 *entry;

		for (ssize_t at = 0; at < n; at += entry->d_reclen) {
			entry = (const void *)(buf + at);
			if (entry->d_name[0] != '.' &&
			    is_kept_file(atoi(entry->d_name)))
				add(in, atoi(entry->d_name));
		}
	}
	if (n < 0)
		in->error = -errno;
}

void inherited_release(struct inherited *in)
{
	free(in->fds);
	*in = (struct inherited){ 0 };
}
