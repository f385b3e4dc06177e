/* proc.c - see proc.h */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/fd.h"

ssize_t proc_read(pid_t pid, const char *name, char *text, size_t size)
{
	CLEANUP(closep) int fd = -1;
	char path[64];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -errno : fd_read_all(fd, text, size - 1);
	if (n <= 0)
		return n < 0 ? n : -ESRCH;
	text[n] = '\0';
	return n;
}
