/* preload_target.h - can this program run with a preloaded library?
 *
 * The dynamic loader of a 32-bit or musl program would print an error about our library
 * or fail.  A program linked with a sanitizer's run-time requires that the run-time
 * comes first, and a static program ignores LD_PRELOAD.  The first bytes of the file
 * decide.  In doubt the answer is no: such a program is observed by other, slower
 * means, and does not change.
 *
 * Runs between vfork() and exec, on small stacks and in signal handlers: no allocation,
 * no libc state, half a kilobyte of stack. */
#ifndef ROAR_TRACE_PRELOAD_PRELOAD_TARGET_H
#define ROAR_TRACE_PRELOAD_PRELOAD_TARGET_H

#include <stdbool.h>

/* Opens a file for reading, close-on-exec and non-blocking.  Returns the
 * descriptor or a negative errno. */
typedef int (*target_opener)(const char *path);

/* Can the program (or script: then its interpreter) of `fd` run with it?  The
 * descriptor stays open and keeps its position. */
bool target_bears(int fd, target_opener opener);

/* The same for a path. */
bool target_path_bears(const char *path, target_opener opener);

/* An opener for processes that are not traced. */
int target_open(const char *path);

#endif
