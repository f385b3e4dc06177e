/* foreground.c - see foreground.h */
#include "run/foreground.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc.h"

struct process_stat {
	char state;
	pid_t parent;
	unsigned terminal; /* a device as the kernel writes it */
};

static bool read_stat(pid_t pid, struct process_stat *ret)
{
	char text[512];
	const char *behind;

	if (proc_read(pid, "stat", text, sizeof(text)) < 0)
		return false;
	behind = strrchr(text, ')'); /* the name may have any other */
	return behind && sscanf(behind + 1, " %c %d %*d %*d %u", &ret->state,
				&ret->parent, &ret->terminal) == 3;
}

/* Our controlling terminal, as stat() names devices; 0 when there is none. */
static dev_t own_terminal(void)
{
	struct process_stat st;
	unsigned nr;

	if (!read_stat(getpid(), &st))
		return 0;
	nr = st.terminal;
	return makedev((nr >> 8) & 0xfff, (nr & 0xff) | ((nr >> 12) & 0xfff00));
}

/* /dev/tty is a device of its own that stands for whatever terminal one has. */
static bool is_terminal(pid_t pid, unsigned long fd, dev_t terminal)
{
	struct stat st;

	return stat(proc_path(pid, "fd/%lu", fd).text, &st) == 0 &&
	       S_ISCHR(st.st_mode) &&
	       (st.st_rdev == terminal || st.st_rdev == makedev(5, 0));
}

static bool reads_a_line(pid_t pid, dev_t terminal)
{
	char text[256];
	unsigned long fd;
	long nr;

	return proc_read(pid, "syscall", text, sizeof(text)) > 0 &&
	       sscanf(text, "%ld %lx", &nr, &fd) == 2 && nr == SYS_read &&
	       is_terminal(pid, fd, terminal);
}

bool foreground_catches(pid_t pid, int sig)
{
	char text[4096];
	const char *mask;

	if (proc_read(pid, "status", text, sizeof(text)) < 0)
		return false;
	mask = strstr(text, "\nSigCgt:");
	return mask && strtoull(mask + strlen("\nSigCgt:"), NULL, 16) &
			       (1ULL << (sig - 1));
}

/* Does the terminal hand over each key at once? */
static bool hands_over_keys(int tty)
{
	struct termios t;

	return tcgetattr(tty, &t) == 0 && !(t.c_lflag & ICANON);
}

bool foreground_is_held(pid_t pid)
{
	CLEANUP(closedirp) DIR *dir = NULL;
	struct process_stat st;
	pid_t other;

	if (!read_stat(pid, &st) || st.state != 'D')
		return false;
	dir = opendir("/proc");
	while ((other = proc_next(dir)) >= 0)
		if (read_stat(other, &st) && st.parent == pid && st.state == 'T')
			return true;
	return false;
}

bool foreground_is_stopped(pid_t pid)
{
	struct process_stat st;

	return read_stat(pid, &st) && (st.state == 'T' || st.state == 't');
}

enum foreground foreground_look(pid_t self, pid_t other)
{
	CLEANUP(closep)
	int tty = open("/dev/tty",
		       O_RDONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	CLEANUP(closedirp) DIR *dir = NULL;
	enum foreground found = FOREGROUND_DEAF;
	dev_t terminal;
	pid_t group, pid;

	if (tty >= 0 && hands_over_keys(tty))
		return FOREGROUND_READS;
	group = tty < 0 ? -1 : tcgetpgrp(tty);
	dir = group < 0 ? NULL : opendir("/proc");
	terminal = own_terminal();
	while ((pid = proc_next(dir)) >= 0) {
		if (pid == self || pid == other || getpgid(pid) != group)
			continue;
		if (reads_a_line(pid, terminal))
			return FOREGROUND_READS;
		if (foreground_catches(pid, SIGINT))
			found = FOREGROUND_CATCHES;
	}
	return found;
}
