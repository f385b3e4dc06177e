/* launch.h - starts the child that will execute the command.
 *
 * The child installs the seccomp filter, if there is one, and waits at a gate (a futex
 * in the shared control page) until the tracer has attached.  Then it restores the
 * signal settings that the tracer's process changed, and executes.  It reports errors
 * in the control page. */
#ifndef ROAR_TRACE_LAUNCH_H
#define ROAR_TRACE_LAUNCH_H

#include <linux/filter.h>
#include <stdbool.h>
#include <sys/types.h>

struct tracer_job;
struct tracer_control;

/* What a backend needs in addition to the job. */
struct launch {
	const struct sock_fprog *filter; /* may be NULL */
	bool listens; /* the filter sends notifications: launch_listener() */
	char *const *envp; /* replaces the job's; may be NULL */
};

/* Makes the child.  The child needs a while to reach the gate, and the caller can do
 * other work meanwhile.  With `listens`, `ret_line` is the socket on which the child
 * sends the listener of its filter.  0, or a negative errno; then there is no child. */
int launch_child(const struct tracer_job *job, const struct launch *how,
		 pid_t *ret_pid, int *ret_line);

/* Waits for the listener, returns its descriptor and closes the socket.  A negative
 * errno when the child has none. */
int launch_listener(int line);

/* Lets the child continue, or (abort) makes it exit without executing. */
void launch_open_gate(struct tracer_control *control);
void launch_abort(struct tracer_control *control, pid_t pid);

#endif
