/* launch.h - the new child on its way to execve().
 *
 * The child installs the seccomp filter when there is one, and stands at a gate (a
 * futex in the shared control page) until the tracer has attached; then it restores
 * what the tracer's process changed about signals, and executes.  What goes wrong it
 * leaves in the control page. */
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
	bool listens; /* the filter notifies us: launch_listener() */
	char *const *envp; /* instead of the job's; may be NULL */
};

/* Makes the child.  It takes a while to get to the gate, in which the caller can do
 * other things.  With `listens`, `ret_line` is the line on which it sends what it got
 * by its filter.  0 or a negative errno; then there is no child. */
int launch_child(const struct tracer_job *job, const struct launch *how,
		 pid_t *ret_pid, int *ret_line);

/* Waits for the listener, a descriptor, and closes the line.  A negative errno when
 * there is none. */
int launch_listener(int line);

/* Lets it go on, or (abort) makes it end without executing. */
void launch_open_gate(struct tracer_control *control);
void launch_abort(struct tracer_control *control, pid_t pid);

#endif
