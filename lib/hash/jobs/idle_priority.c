/* idle_priority.c - see idle_priority.h */
#include "hash/jobs/idle_priority.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From the kernel's ioprio.h, which not every libc brings along.  Class 0 lets
 * the I/O priority follow the CPU priority again. */
enum { IOPRIO_WHO_THREAD = 1, IOPRIO_CLASS_SHIFT = 13, IOPRIO_IDLE = 3 };

static void set_io_class(pid_t tid, int class)
{
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_THREAD, tid,
		      class << IOPRIO_CLASS_SHIFT);
}

struct normal_priority normal_priority_get(void)
{
	struct normal_priority p = { .policy = sched_getscheduler(0) };

	if (p.policy < 0 || sched_getparam(0, &p.param) < 0)
		p = (struct normal_priority){ .policy = SCHED_OTHER };
	return p;
}

int idle_priority_enter(pid_t tid)
{
	struct sched_param param = { 0 };

	set_io_class(tid, IOPRIO_IDLE);
	return sched_setscheduler(tid, SCHED_IDLE, &param) < 0 ? -errno : 0;
}

int idle_priority_leave(pid_t tid, const struct normal_priority *normal)
{
	set_io_class(tid, 0);
	return sched_setscheduler(tid, normal->policy, &normal->param) < 0 ?
		       -errno :
		       0;
}
