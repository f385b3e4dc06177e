/* command.c - see command.h */
#include "trace/command.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "trace/tracer.h"

/* Reports that the command was stopped by this signal, or continues (SIGCONT). */
static void tell_stopped(const struct tracer_job *job, int sig)
{
	atomic_store(&job->control->stopped, sig != SIGCONT);
	if (sig == SIGCONT)
		atomic_store(&job->control->signal_ns[sig], clock_now_ns());
	if (job->stopped)
		job->stopped(job->ctx, sig);
}

static int wait_for(const struct tracer_job *job, pid_t pid, int flags,
		    int *ret_status, struct rusage *ret_usage,
		    command_stopped *stopped, void *ctx)
{
	int status = 0, sig;
	pid_t r;

	assert(pid > 0);
	for (;;) {
		r = wait4(pid, &status, flags | WUNTRACED | WCONTINUED,
			  ret_usage);
		if (r < 0 && errno == EINTR)
			continue;
		if (r == 0)
			return 0;
		if (r > 0 && WIFSTOPPED(status)) {
			sig = stopped ? stopped(ctx, pid, status) :
					WSTOPSIG(status);
			if (sig)
				tell_stopped(job, sig);
		} else if (r > 0 && WIFCONTINUED(status)) {
			tell_stopped(job, SIGCONT);
		} else {
			break;
		}
	}
	/* The pid may soon be reused. */
	atomic_store(&job->control->command, -1);
	if (r < 0)
		return -errno;
	*ret_status = status;
	return 1;
}

int command_wait(const struct tracer_job *job, pid_t pid, int flags,
		 int *ret_status, struct rusage *ret_usage)
{
	return wait_for(job, pid, flags, ret_status, ret_usage, NULL, NULL);
}

int command_wait_seized(const struct tracer_job *job, pid_t pid, int flags,
			int *ret_status, command_stopped *stopped, void *ctx)
{
	return wait_for(job, pid, flags, ret_status, NULL, stopped, ctx);
}
