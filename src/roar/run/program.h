/* program.h - finds the program of a command line as a shell would. */
#ifndef ROAR_RUN_PROGRAM_H
#define ROAR_RUN_PROGRAM_H

struct str;

enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

/* Finds `name` in `path` (the value of PATH; NULL: the default), or takes it as it
 * is when it has a slash.  Appends the file to `out` and returns 0, or returns
 * the exit code after printing the reason on stderr. */
int program_find(const char *name, const char *path, struct str *out);

/* Prints why execve() of `file` failed; returns the exit code. */
int program_failed(const char *file, int error);

#endif
