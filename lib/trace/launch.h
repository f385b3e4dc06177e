/* launch.h - the new child on its way to execve().
 *
 * The child stands at a gate (a futex in the shared control page) until the
 * tracer has attached; then it restores what the tracer's process changed about
 * signals, installs the seccomp filter when there is one, and executes.  What
 * goes wrong it leaves in the control page. */
#ifndef ROAR_TRACE_LAUNCH_H
#define ROAR_TRACE_LAUNCH_H

#include <linux/filter.h>
#include <stdbool.h>
#include <sys/types.h>

struct tracer_job;
struct tracer_control;

/* What a backend needs beside the job. */
struct launch {
	const struct sock_fprog *filter; /* may be NULL */
	bool listens; /* the filter notifies us; see below */
	char *const *envp; /* instead of the job's; may be NULL */
};

/* Makes the child.  With `listens` it installs its filter before the gate and sends
 * what it got by it, the listener: `ret_listener` is that descriptor.  0 or a
 * negative errno; then there is no child. */
int launch_child(const struct tracer_job *job, const struct launch *how,
		 pid_t *ret_pid, int *ret_listener);

/* Lets it go on, or (abort) makes it end without executing. */
void launch_open_gate(struct tracer_control *control);
void launch_abort(struct tracer_control *control, pid_t pid);

#endif
