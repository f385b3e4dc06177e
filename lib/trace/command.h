/* command.h - what the kernel says of the command's own process.
 *
 * Backends that do not stop it hear of it as a shell hears of its jobs: it stops,
 * goes on, and ends. */
#ifndef ROAR_TRACE_COMMAND_H
#define ROAR_TRACE_COMMAND_H

#include <sys/types.h>

struct rusage;
struct tracer_job;

/* A stop of a command that we trace, by its wait status: makes it go on.  Returns
 * the signal that has stopped the whole job, 0 when none did. */
typedef int command_stopped(void *ctx, pid_t pid, int status);

/* As below, for a command that may be traced as well. */
int command_wait_seized(const struct tracer_job *job, pid_t pid, int flags,
			int *ret_status, command_stopped *stopped, void *ctx);

/* Waits for the command's end; with WNOHANG in `flags` it only takes what is known.
 * Stops on the way are told to the job and stand in its control page.  Returns 1
 * when it has ended, with its wait status and usage (`ret_usage` may be NULL), 0
 * when it lives, or a negative errno when it is nobody to wait for. */
int command_wait(const struct tracer_job *job, pid_t pid, int flags,
		 int *ret_status, struct rusage *ret_usage);

#endif
