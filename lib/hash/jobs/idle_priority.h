/* idle_priority.h - a thread that runs when nobody else wants to.
 *
 * Private to lib/hash.  Covers the CPU (SCHED_IDLE) and the disk (I/O class
 * idle).  Anybody may go idle; coming back needs CAP_SYS_NICE or a raised
 * RLIMIT_NICE, which most users do not have. */
#ifndef ROAR_HASH_IDLE_PRIORITY_H
#define ROAR_HASH_IDLE_PRIORITY_H

#include <sched.h>
#include <sys/types.h>

/* What a thread had before it went idle. */
struct normal_priority {
	int policy;
	struct sched_param param;
};

/* That of the calling thread, which its new threads inherit. */
struct normal_priority normal_priority_get(void);

/* Both take the kernel's id of a thread of this process and return 0 or a
 * negative errno.  -EPERM from leaving: the thread stays idle for good. */
int idle_priority_enter(pid_t tid);
int idle_priority_leave(pid_t tid, const struct normal_priority *normal);

#endif
