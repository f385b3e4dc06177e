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
 * later, unless the tracer has seen the command, or the group, get the same signal
 * meanwhile; at once, each with its value, what was sent by sigqueue().
 * Stopping: the front stops when the command has stopped, by the same signal, and
 * not before; so Ctrl-Z does to the job what it does to the command.
 * The tracer blocks all signals and never stops.
 *
 * Ctrl-C.  Each one typed reaches the command.  When the command was asked to end by
 * one and does not, the second ends the run (the whole tree, by SIGKILL):
 *
 *	somebody reads the terminal        the run goes on, however often
 *	(prompt, pager, editor)
 *	somebody catches SIGINT            the second within 2 s says that the
 *	(perhaps saving, perhaps hung)     next one within 2 s ends the run
 *	nobody does                        the second within 5 s ends it
 *
 * foreground.h tells who does; the answer is awaited for a fifth of a second.  A key
 * held down counts once.  What is sent by kill() is only passed on.
 *
 * The end.  When only the record is missing (hashing takes long), whoever asks the
 * front to end gets that: it ends with the command's exit code, and the next roar
 * command completes the record.  A front that got SIGINT and whose command SIGINT
 * ended dies of it as well, so that a shell ends its loop.
 *
 * If the front is killed the run goes on and is recorded.  If the tracer is
 * killed, the journal has what it had seen.  With ptrace the kernel kills the command
 * as well; else the command goes on, and the front waits for it and ends with its
 * exit code (orphan.h). */
#ifndef ROAR_RUN_FRONT_H
#define ROAR_RUN_FRONT_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct tracer_control;

struct front {
	struct tracer_control *control;
	pid_t pid; /* of the front process */
	int fd; /* the tracer's end of the line to the front */
	sigset_t mask; /* as the command must find them */
	sigset_t ignored;
};

/* At the start of the program, before anything is written: a limit on the size of
 * files is an error for us (EFBIG), not the signal SIGXFSZ.  front_restore() is for
 * who executes the command without front_run(). */
void front_prepare(void);
void front_restore(void);

struct front_body {
	int (*run)(struct front *front, void *ctx);
	/* In the front: the tracer was killed while the command ran, `command`
	 * is its pid.  Here what it has left can be brought to safety. */
	void (*rescue)(void *ctx, pid_t command);
	void *ctx;
};

/* Runs the body in a new process and returns its exit code in this one.  -errno
 * when that process could not be made.  `quiet`: nothing is said of Ctrl-C. */
int front_run(const struct front_body *what, bool quiet);

/* In the body, when the tracer has started: where it does not see signals, a thread
 * watches what is sent to the group. */
void front_witness(struct front *front);

/* In the body, when the command has ended with this wait status: how many signals have
 * asked it to end. */
int front_count_interrupts(struct front *front, int status);

/* What is left to do when the command has ended. */
enum front_rest {
	FRONT_JOURNAL = 1 << 0, /* a record that a journal can complete */
	FRONT_SERVES = 1 << 1, /* processes that outlived it, and need us */
};

/* In the body: the command has ended, with this wait status. */
void front_ended(struct front *front, int status, unsigned rest);

/* In the body: lets the front end with `code` while this process goes on alone,
 * without terminal and standard descriptors. */
void front_leave(struct front *front, int code);

/* In the body, once the command has its copies: closes what was inherited (what
 * does not close on exec), all but stderr. */
void front_let_go(void);

/* In the body, as tracer_job.stopped: what the command does, the front does. */
void front_stop(const struct front *front, int sig);

#endif
