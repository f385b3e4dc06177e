/* command.h - state changes of the command's own process: stopped, continued, ended.
 *
 * For backends that do not stop the command by ptrace.  They wait for it as a shell
 * waits for its jobs. */
#ifndef ROAR_TRACE_COMMAND_H
#define ROAR_TRACE_COMMAND_H

#include <sys/types.h>

struct rusage;
struct tracer_job;

/* Handles a stop of a command that we trace, given its wait status, and resumes the
 * command.  Returns the signal that stopped the whole job, or 0 if none did. */
typedef int command_stopped(void *ctx, pid_t pid, int status);

/* Like command_wait(), for a command that may also be traced. */
int command_wait_seized(const struct tracer_job *job, pid_t pid, int flags,
			int *ret_status, command_stopped *stopped, void *ctx);

/* Waits for the command to end; with WNOHANG in `flags` it does not block.  Stops on
 * the way are reported to the job and set in its control page.  Returns 1 when the
 * command has ended, with its wait status and usage (`ret_usage` may be NULL), 0 when
 * it is alive, or a negative errno when `pid` is not a child to wait for. */
int command_wait(const struct tracer_job *job, pid_t pid, int flags,
		 int *ret_status, struct rusage *ret_usage);

#endif
