/* foreground.h - what a typed Ctrl-C finds at the terminal.
 *
 * The kernel sends it to all processes of the foreground group.  Whether they have
 * reacted cannot be asked, but three things can be seen from outside: a terminal
 * that hands over single keys (an editor, a pager, a prompt with line editing), a
 * process that waits for a line from it, and a process that catches SIGINT.
 *
 * A look costs one walk through /proc. */
#ifndef ROAR_RUN_FOREGROUND_H
#define ROAR_RUN_FOREGROUND_H

#include <stdbool.h>
#include <sys/types.h>

/* In the order of how much is alive. */
enum foreground {
	FOREGROUND_DEAF, /* nobody catches the signal or asks for input */
	FOREGROUND_CATCHES, /* somebody catches it; perhaps busy, perhaps hung */
	FOREGROUND_READS, /* somebody wants input from the user */
};

/* Looks at the controlling terminal and its foreground group, in which `self` and
 * `other` do not count. */
enum foreground foreground_look(pid_t self, pid_t other);

/* Is the process held by a child that has stopped?  It is between vfork() and exec,
 * where a parent cannot stop by itself. */
bool foreground_is_held(pid_t pid);

/* Has the process stopped, and nobody let it go on? */
bool foreground_is_stopped(pid_t pid);

/* Has the process a handler for this signal? */
bool foreground_catches(pid_t pid, int sig);

#endif
