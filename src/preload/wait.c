/* wait.c - the exit status of children.
 *
 * Only a parent learns it, and /proc is read too late.  So the result of the parent's
 * wait is logged.  The process does not wait for the reader, and without room in the
 * ring the status stays unknown. */
#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "preload.h"

static void tell_end(pid_t pid, int status)
{
	struct telling t = {
		.kind = LOG_GONE,
		.value = pid,
		.other = (uint32_t)status,
	};
	int saved = errno;

	if ((!WIFEXITED(status) && !WIFSIGNALED(status)) || !live())
		return;
	(void)tell(&t, false);
	errno = saved;
}

WRAPPER(pid_t, wait, int *status)
{
	int own = 0;
	pid_t pid = NEXT(wait)(status ? status : &own);

	if (pid > 0)
		tell_end(pid, status ? *status : own);
	return pid;
}

WRAPPER(pid_t, waitpid, pid_t which, int *status, int options)
{
	int own = 0;
	pid_t pid = NEXT(waitpid)(which, status ? status : &own, options);

	if (pid > 0)
		tell_end(pid, status ? *status : own);
	return pid;
}

WRAPPER(pid_t, wait3, int *status, int options, struct rusage *usage)
{
	int own = 0;
	pid_t pid = NEXT(wait3)(status ? status : &own, options, usage);

	if (pid > 0)
		tell_end(pid, status ? *status : own);
	return pid;
}

WRAPPER(pid_t, wait4, pid_t which, int *status, int options,
	struct rusage *usage)
{
	int own = 0;
	pid_t pid = NEXT(wait4)(which, status ? status : &own, options, usage);

	if (pid > 0)
		tell_end(pid, status ? *status : own);
	return pid;
}

/* The wait status of these two; that of WUNTRACED when the child is alive. */
static int status_of(int code, int status)
{
	switch (code) {
	case CLD_EXITED:
		return (status & 0xff) << 8;
	case CLD_KILLED:
		return status & 0x7f;
	case CLD_DUMPED:
		return (status & 0x7f) | 0x80;
	default:
		return 0x7f;
	}
}

WRAPPER(int, waitid, idtype_t type, id_t id, siginfo_t *info, int options)
{
	siginfo_t own = { 0 };
	siginfo_t *to = info ? info : &own;
	int r = NEXT(waitid)(type, id, to, options);

	if (r == 0 && (options & WEXITED) && !(options & WNOWAIT) && to->si_pid)
		tell_end(to->si_pid, status_of(to->si_code, to->si_status));
	return r;
}
