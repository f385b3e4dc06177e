/* proc.c - see proc.h */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

enum { START_FIELD = 22 }; /* of proc(5)'s stat */

struct proc_path proc_path(pid_t pid, const char *name, ...)
{
	struct proc_path path;
	size_t len = (size_t)snprintf(path.text, sizeof(path.text), "/proc/%d/",
				      (int)pid);
	va_list args;

	va_start(args, name);
	(void)vsnprintf(path.text + len, sizeof(path.text) - len, name, args);
	va_end(args);
	return path;
}

struct proc_path proc_fd_path(int fd)
{
	struct proc_path path;

	(void)snprintf(path.text, sizeof(path.text), "/proc/thread-self/fd/%d",
		       fd);
	return path;
}

ssize_t proc_read(pid_t pid, const char *name, char *text, size_t size)
{
	CLEANUP(closep)
	int fd = open(proc_path(pid, "%s", name).text, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -errno : fd_read_all(fd, text, size - 1);

	if (n <= 0)
		return n < 0 ? n : -ESRCH;
	text[n] = '\0';
	return n;
}

ssize_t proc_readlink(pid_t pid, const char *name, char *text, size_t size)
{
	ssize_t n = readlink(proc_path(pid, "%s", name).text, text, size - 1);

	text[n < 0 ? 0 : n] = '\0';
	return n < 0 ? -errno : n;
}

int proc_family(pid_t tid, pid_t *ret_pid, pid_t *ret_parent)
{
	char text[1024];
	const char *pid, *parent;

	if (proc_read(tid, "status", text, sizeof(text)) < 0)
		return -ESRCH;
	pid = strstr(text, "\nTgid:");
	parent = strstr(text, "\nPPid:");
	if (!pid || !parent)
		return -ESRCH;
	*ret_pid = atoi(pid + strlen("\nTgid:"));
	*ret_parent = atoi(parent + strlen("\nPPid:"));
	return 0;
}

int proc_next(DIR *dir)
{
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
			return atoi(entry->d_name);
	return -1;
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
