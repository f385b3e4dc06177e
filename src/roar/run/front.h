/* front.h - the process the shell sees.
 *
 * `roar run` is two processes.  The front is the one the shell started and waits
 * for; it has nothing to do but pass signals on and end with the command's exit
 * code.  The tracer, its child, does the work and is the parent of the command.
 * They are two because processes may outlive the command: the shell must get
 * its prompt back, and the tracer must go on serving them.
 *
 * Signals.  What the terminal or anybody sends to the process group reaches the
 * command by itself.  What reaches the front alone is passed on once: a moment
 * later, unless the tracer has seen the command get the same signal meanwhile.
 * Stopping: the front stops when the command has stopped, by the same signal, and
 * not before; so Ctrl-Z does to the job what it does to the command.  A second SIGINT kills the tree.
 * The tracer blocks all signals and never stops.
 *
 * If the front is killed the run goes on and is recorded.  If the tracer is
 * killed, the kernel kills what it traced; the journal has the rest. */
#ifndef ROAR_RUN_FRONT_H
#define ROAR_RUN_FRONT_H

#include <signal.h>
#include <sys/types.h>

struct tracer_control;

struct front {
	struct tracer_control *control;
	pid_t pid; /* of the front process */
	int fd; /* the tracer's end of the line to the front */
	sigset_t mask; /* as the command must find them */
	sigset_t ignored;
};

/* Runs `body` in a new process and returns its exit code in this one.  -errno
 * when that process could not be made. */
int front_run(int (*body)(struct front *front, void *ctx), void *ctx);

/* In the body: lets the front end with `code` while this process goes on alone,
 * without terminal and standard descriptors. */
void front_leave(struct front *front, int code);

/* In the body, once the command has its copies: closes what was inherited (what
 * does not close on exec), all but stderr. */
void front_let_go(void);

/* In the body, as tracer_job.stopped: what the command does, the front does. */
void front_stop(const struct front *front, int sig);

#endif
