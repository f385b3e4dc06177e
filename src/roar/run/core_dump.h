/* core_dump.h - the file the kernel leaves of a process that crashed.
 *
 * It is written by the kernel, so no call tells of it; only the wait status says
 * that there is one.  Its name follows from /proc/sys/kernel/core_pattern and the
 * process's current directory, see core(5). */
#ifndef ROAR_RUN_CORE_DUMP_H
#define ROAR_RUN_CORE_DUMP_H

#include <stdint.h>

struct event;
struct str;

/* Finds the core dump that an exit event with WCOREDUMP speaks of, if its process
 * was in `cwd`: 1 and its path.  0 when the kernel hands core dumps to a program,
 * which is none of the run's business.  -ENOENT when it is somewhere else; what is
 * older than `since_ns` is not it. */
int core_dump_find(const struct event *exit, const char *cwd, int64_t since_ns,
		   struct str *out);

#endif
