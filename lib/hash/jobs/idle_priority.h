/* idle_priority.h - idle priority for a thread.
 *
 * Private to lib/hash.  Covers the CPU (SCHED_IDLE) and the disk (I/O class idle).  Any
 * thread may go idle; leaving that needs CAP_SYS_NICE or a raised RLIMIT_NICE, which most
 * users do not have. */
#ifndef ROAR_HASH_IDLE_PRIORITY_H
#define ROAR_HASH_IDLE_PRIORITY_H

#include <sched.h>
#include <sys/types.h>

/* The priority of a thread before it went idle. */
struct normal_priority {
	int policy;
	struct sched_param param;
};

/* The priority of the calling thread, which new threads inherit. */
struct normal_priority normal_priority_get(void);

/* Both take the kernel's id of a thread of this process and return 0 or a
 * negative errno.  -EPERM from leaving: the thread stays idle for good. */
int idle_priority_enter(pid_t tid);
int idle_priority_leave(pid_t tid, const struct normal_priority *normal);

#endif
