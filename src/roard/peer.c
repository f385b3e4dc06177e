/* peer.c - see peer.h */
#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/proc.h"
#include "base/str.h"

enum { STATUS_MAX = 64 * 1024 };

int peer_uid(int fd, uid_t *ret_uid)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	*ret_uid = cred.uid;
	return 0;
}

/* The text after "\nNAME:"; NULL when there is none. */
static const char *field(const struct str *text, const char *name)
{
	size_t len = strlen(name);
	const char *line = str_cstr(text);

	while (line && *line) {
		if (strncmp(line, name, len) == 0 && line[len] == ':')
			return line + len + 1;
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return NULL;
}

static int pid_of(int pidfd)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	const char *value;
	char path[64];
	long pid;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	if (fd_read_file(AT_FDCWD, path, STATUS_MAX, &text) < 0)
		return -EBADF;
	value = field(&text, "Pid");
	if (!value)
		return -EBADF;
	pid = strtol(value, NULL, 10);
	/* 0: it is in a world that we cannot look into; -1: it is gone. */
	return pid > 0 ? (int)pid : pid < 0 ? -ESRCH : -EPERM;
}

static bool all_are(const char *value, uid_t uid)
{
	for (int i = 0; i < 4; i++) {
		char *end;
		unsigned long id = strtoul(value, &end, 10);

		if (end == value || id != uid)
			return false;
		value = end;
	}
	return true;
}

static bool is_gone(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, 0) != 0;
}

/* The directory in /proc belongs to root unless the user may debug the process. */
int peer_owns(uid_t uid, int pidfd)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	const char *ids;
	struct stat st;
	char path[64];
	int pid = pid_of(pidfd);

	if (pid < 0)
		return pid;
	(void)snprintf(path, sizeof(path), "/proc/%d", pid);
	if (stat(path, &st) < 0)
		return -ESRCH;
	if (fd_read_file(AT_FDCWD, proc_path(pid, "status").text, STATUS_MAX,
			 &text) < 0)
		return -ESRCH;
	/* If it lives still, the number was its own all the time. */
	if (is_gone(pidfd))
		return -ESRCH;
	ids = field(&text, "Uid");
	return ids && all_are(ids, uid) && st.st_uid == uid ? 0 : -EPERM;
}
