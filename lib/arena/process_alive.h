/* process_alive.h - is a process, known by pid and start time, still there?
 *
 * A pidfd tells of the end of a process by poll(2), also of a zombie's.  A pid may be
 * used again, so the start time tells whether it is the same process; and it means
 * nothing to a process of another pid namespace, which can only be believed alive. */
#ifndef ROAR_ARENA_PROCESS_ALIVE_H
#define ROAR_ARENA_PROCESS_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	PROCESS_GONE = -2, /* there is no such process */
	PROCESS_UNKNOWN = -1, /* it cannot be told here, or not now: descriptors
			     * may be used up */
};

/* The pid namespace of this process; 0 when it cannot be told. */
uint64_t process_alive_pid_space(void);

/* A descriptor that becomes readable when the process ends, or one of the above.
 * `started` as of proc_started(), 0: any process of that pid. */
int process_alive_open(int pid, uint64_t started);

/* How a child of ours has ended that nobody has waited for yet, as of waitpid(2); it is
 * not reaped. */
bool process_alive_status(int pid, int *ret_status);

#endif
