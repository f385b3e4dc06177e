/* foreground.h - how the processes at the terminal will react to Ctrl-C.
 *
 * The kernel sends SIGINT to all processes of the foreground group.  It is not visible
 * whether they have reacted, but three things are: a terminal in raw mode (an editor, a
 * pager, a prompt with line editing), a process that waits for a line from it, and a
 * process that catches SIGINT.
 *
 * A check costs one walk through /proc. */
#ifndef ROAR_RUN_FOREGROUND_H
#define ROAR_RUN_FOREGROUND_H

#include <stdbool.h>
#include <sys/types.h>

/* From the least to the most responsive. */
enum foreground {
	FOREGROUND_DEAF, /* no process catches the signal or reads input */
	FOREGROUND_CATCHES, /* a process catches it; perhaps busy, perhaps hung */
	FOREGROUND_READS, /* a process waits for input from the user */
};

/* Examines the controlling terminal and its foreground group, in which `self` and
 * `other` do not count. */
enum foreground foreground_look(pid_t self, pid_t other);

/* Is the process held by a child that has stopped?  It is between vfork() and exec,
 * where a parent cannot stop by itself. */
bool foreground_is_held(pid_t pid);

/* Has the process stopped, without SIGCONT since? */
bool foreground_is_stopped(pid_t pid);

/* Does the process have a handler for this signal? */
bool foreground_catches(pid_t pid, int sig);

#endif
