/* seize_aarch64.c - see seize.h.
 *
 * Here the kernel has put the result aside before it asks a tracer, and a tracer
 * cannot change its mind. */
#include "trace/hybrid/seize.h"

bool seize_helps(void)
{
	return false;
}

bool seize_interrupted(pid_t tid, struct seccomp_data *ret)
{
	(void)tid;
	(void)ret;
	return false;
}

void seize_repeat(pid_t tid)
{
	(void)tid;
}
