/* proc.c - see proc.h */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

enum { START_FIELD = 22 }; /* of proc(5)'s stat */

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

uint64_t proc_started(pid_t pid)
{
	char text[1024];
	const char *at;

	if (proc_read(pid, "stat", text, sizeof(text)) < 0)
		return 0;
	/* The name may have blanks and brackets in it; field 3 follows it. */
	at = strrchr(text, ')');
	for (int field = 2; at && field < START_FIELD; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

/* The last number of its line, which the kernel shows to its own user; others see 0. */
int proc_zombie_status(pid_t pid)
{
	char text[1024];
	const char *end;
	struct stat st;

	(void)snprintf(text, sizeof(text), "/proc/%d", (int)pid);
	if (stat(text, &st) < 0 || (geteuid() && st.st_uid != geteuid()) ||
	    proc_read(pid, "stat", text, sizeof(text)) < 0)
		return -1;
	end = strrchr(text, ')');
	if (!end || strncmp(end, ") Z", 3) != 0)
		return -1;
	end = strrchr(end, ' ');
	return (int)strtol(end, NULL, 10);
}
