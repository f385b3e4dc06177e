/* child.h - programs that a reproduction runs, one at a time.
 *
 * A program is started from an array of arguments, never by a shell.  It reads /dev/null.
 * What it prints goes to our stderr, so that stdout has only the result; or, for an
 * installer, its end is kept for a message.
 *
 * From child_catch_signals() on, SIGINT and SIGTERM are noted and passed to the program that
 * runs (the terminal sends Ctrl-C to both by itself).  Then the calls return -EINTR. */
#ifndef ROAR_REPRODUCE_CHILD_H
#define ROAR_REPRODUCE_CHILD_H

#include <stdbool.h>

#include "base/str.h"

struct child {
	char *const *argv;
	char *const *envp; /* NULL: ours */
	int dirfd; /* its directory; -1: ours */
	struct str *output; /* receives the end of what it prints; NULL: stderr */
	int (*prepare)(void); /* called before exec; NULL: none */
};

/* Runs it to its end.  Its exit status (128 + n for signal n), -ENOENT: there is no such
 * program, -EINTR: we were asked to stop, -EPERM: `prepare` failed, or a negative errno. */
int child_run(const struct child *child);

int child_catch_signals(void);
/* Were we asked to stop? */
bool child_stopped(void);
/* Readable as soon as that is so; -1 before child_catch_signals(). */
int child_stop_fd(void);

#endif
