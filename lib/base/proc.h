/* proc.h - what the kernel tells about a process in /proc. */
#ifndef ROAR_BASE_PROC_H
#define ROAR_BASE_PROC_H

#include <stdint.h>
#include <sys/types.h>

/* The beginning of /proc/PID/NAME as a string, as far as `size` goes.  Returns its
 * length, or a negative errno: -ESRCH for a file that is empty, as those of a
 * zombie are. */
ssize_t proc_read(pid_t pid, const char *name, char *text, size_t size);

/* When a process was started, in the kernel's ticks: with that, a pid means one process
 * for ever.  0 when there is none. */
uint64_t proc_started(pid_t pid);

/* How a process has ended that nobody has waited for yet: its wait status.  -1 when it
 * is no such one, or not our user's. */
int proc_zombie_status(pid_t pid);

#endif
