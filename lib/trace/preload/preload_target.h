/* preload_target.h - can this program bear a preloaded library?
 *
 * The dynamic loader of a 32-bit or musl program would complain about our library
 * or die of it, a program linked with a sanitizer's run-time insists that this
 * comes first, and a static program has no use for it.  A look at the first bytes
 * of the file tells.  What cannot be told cannot bear it: such a program is seen
 * by other means, slower, and nothing of it changes.
 *
 * Runs between vfork() and exec, on small stacks and in signal handlers: no
 * allocation, no libc state, half a kilobyte of stack. */
#ifndef ROAR_TRACE_PRELOAD_PRELOAD_TARGET_H
#define ROAR_TRACE_PRELOAD_PRELOAD_TARGET_H

#include <stdbool.h>

/* Opens a file for reading, close-on-exec and non-blocking.  Returns the
 * descriptor or a negative errno. */
typedef int (*target_opener)(const char *path);

/* The program (or script: then its interpreter) behind `fd`, which stays open and
 * whose position stays where it is. */
bool target_bears(int fd, target_opener opener);

/* The same for a path. */
bool target_path_bears(const char *path, target_opener opener);

/* An opener for processes that nobody traces. */
int target_open(const char *path);

#endif
