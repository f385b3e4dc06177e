/* front.h - the process that the shell sees.
 *
 * `roar run` is two processes.  The front is the one that the shell started and waits
 * for; it only passes signals on and ends with the command's exit code.  The tracer,
 * its child, does the work and is the parent of the command.  They are two because
 * processes may outlive the command: the shell must get its prompt back, and the tracer
 * must continue to serve them.
 *
 * Signals.  A signal to the process group reaches the command directly.  A signal to
 * the front alone is passed on once: a moment later, unless the tracer has seen the
 * command, or the group, get the same signal meanwhile.  A signal from sigqueue() is
 * passed on at once, each with its value.  Stopping: the front stops when the command
 * has stopped, by the same signal, and not before; so Ctrl-Z does to the job what it
 * does to the command.  The tracer blocks all signals and never stops.
 *
 * Ctrl-C.  Each one reaches the command.  When it asked the command to end and the
 * command did not, the second one ends the run (the whole tree, by SIGKILL):
 *
 *	a process reads the terminal       the run continues, however often
 *	(prompt, pager, editor)
 *	a process catches SIGINT           the second within 2 s prints that the
 *	(perhaps saving, perhaps hung)     next one within 2 s ends the run
 *	neither                            the second within 5 s ends it
 *
 * foreground.h finds that out; the front waits for the answer for a fifth of a second.
 * A key held down counts once.  A signal sent by kill() is only passed on.
 *
 * The end.  When only the record is missing (hashing takes long), a signal that asks
 * the front to end takes effect: it ends with the command's exit code, and the next
 * roar command completes the record.  A front that got SIGINT and whose command was
 * ended by SIGINT dies of it as well, so that a shell ends its loop.
 *
 * If the front is killed the run continues and is recorded.  If the tracer is killed,
 * the journal has what it had seen.  With ptrace the kernel kills the command as well;
 * otherwise the command continues, and the front waits for it and ends with its exit
 * code (orphan.h). */
#ifndef ROAR_RUN_FRONT_H
#define ROAR_RUN_FRONT_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct tracer_control;

struct front {
	struct tracer_control *control;
	pid_t pid; /* of the front process */
	int fd; /* the tracer's end of the socket to the front */
	sigset_t mask; /* signal settings for the command */
	sigset_t ignored;
};

/* At the start of the program, before anything is written: a limit on the size of files
 * is an error for us (EFBIG), not the signal SIGXFSZ.  front_restore() is for callers
 * that execute the command without front_run(). */
void front_prepare(void);
void front_restore(void);

struct front_body {
	int (*run)(struct front *front, void *ctx);
	/* In the front: the tracer was killed while the command ran, `command` is its
	 * pid.  Saves the tracer's remaining data. */
	void (*rescue)(void *ctx, pid_t command);
	void *ctx;
	int keep_fd; /* the front keeps this open while it is there; -1: none */
};

/* Runs the body in a new process and returns its exit code in this one.  -errno when
 * that process could not be made.  `quiet`: no messages about Ctrl-C. */
int front_run(const struct front_body *what, bool quiet);

/* In the body, when the tracer has started: if the tracer does not see signals, a
 * thread watches those that are sent to the group. */
void front_witness(struct front *front);

/* In the body, when the command has ended with this wait status: the number of signals
 * that asked it to end. */
int front_count_interrupts(struct front *front, int status);

/* What is left to do when the command has ended. */
enum front_rest {
	FRONT_JOURNAL = 1 << 0, /* a record that a journal can complete */
	FRONT_SERVES = 1 << 1, /* processes that outlived the command, and need
			        * us */
};

/* In the body: the command has ended, with this wait status. */
void front_ended(struct front *front, int status, unsigned rest);

/* In the body: lets the front end with `code` while this process continues alone,
 * without terminal and standard descriptors. */
void front_leave(struct front *front, int code);

/* In the body, once the command has its copies: closes inherited descriptors (those
 * without close-on-exec), all but stderr. */
void front_let_go(void);

/* In the body, as tracer_job.stopped: makes the front stop with the command. */
void front_stop(const struct front *front, int sig);

#endif
