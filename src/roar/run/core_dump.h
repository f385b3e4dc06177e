/* core_dump.h - the core dump of a process that crashed.
 *
 * The kernel writes it, so no system call shows it; only the wait status reports that
 * there is one.  Its name follows from /proc/sys/kernel/core_pattern and the process's
 * current directory, see core(5). */
#ifndef ROAR_RUN_CORE_DUMP_H
#define ROAR_RUN_CORE_DUMP_H

#include <stdint.h>

struct event;
struct str;

/* Finds the core dump of an exit event with WCOREDUMP, if its process was in `cwd`: 1
 * and its path.  0 when the kernel pipes core dumps to a program, which is not a part of
 * the run.  -ENOENT when the file is not there; one older than `since_ns` does not
 * count. */
int core_dump_find(const struct event *exit, const char *cwd, int64_t since_ns,
		   struct str *out);

#endif
