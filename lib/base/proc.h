/* proc.h - what the kernel tells about a process in /proc. */
#ifndef ROAR_BASE_PROC_H
#define ROAR_BASE_PROC_H

#include <dirent.h>
#include <stdint.h>
#include <sys/types.h>

/* "/proc/PID/NAME", to be used where it is made: stat(proc_path(pid, "exe").text, &st). */
struct proc_path {
	char text[64];
};

__attribute__((format(printf, 2, 3))) struct proc_path
proc_path(pid_t pid, const char *name, ...);
/* A descriptor of the calling thread. */
struct proc_path proc_fd_path(int fd);

/* The beginning of /proc/PID/NAME as a string, as far as `size` goes.  Returns its
 * length, or a negative errno: -ESRCH for a file that is empty, as those of a
 * zombie are. */
ssize_t proc_read(pid_t pid, const char *name, char *text, size_t size);

/* Where the link /proc/PID/NAME leads, as a string: "" when it cannot be read.  Returns its
 * length or a negative errno. */
ssize_t proc_readlink(pid_t pid, const char *name, char *text, size_t size);

/* The process of a thread, and the parent of that process: 0 when we cannot see it.  Returns 0
 * or -ESRCH. */
int proc_family(pid_t tid, pid_t *ret_pid, pid_t *ret_parent);

/* The next number among the names in a directory; -1 at its end, or when it is NULL. */
int proc_next(DIR *dir);

/* When a process was started, in the kernel's ticks: with that, a pid means one process
 * for ever.  0 when there is none. */
uint64_t proc_started(pid_t pid);

/* How a process has ended that nobody has waited for yet: its wait status.  -1 when it
 * is no such one, or not our user's. */
int proc_zombie_status(pid_t pid);

#endif
