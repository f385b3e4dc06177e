/* front_internal.h - what the two processes of front.h share, and the front's files.
 *
 *	front.c		life cycle, waiting for the end
 *	front_signals.c	handles signals in the front
 *	front_tracer.c	the tracer's process, for the front */
#ifndef ROAR_RUN_FRONT_INTERNAL_H
#define ROAR_RUN_FRONT_INTERNAL_H

#include <stdatomic.h>
#include <stdint.h>

#include "run/front.h"

/* How long a signal sent to the whole group may take to be seen. */
enum { FRONT_SETTLE_NS = 30000000 };

/* Memory that both processes share: what the tracer has reported is known even if the
 * tracer is killed.  No lock: each field is an atomic.  The tracer's process writes
 * them, except `left`, which the front writes, and `by`, which the front writes after
 * the tracer's death.  `code` is set last: when it is not -1, `by`, `rest` and
 * `ended_ns` are valid. */
struct front_page {
	_Atomic int code; /* exit status of the command; -1: it has not ended */
	_Atomic int by; /* the signal that ended it; 0 none */
	_Atomic unsigned rest; /* enum front_rest */
	_Atomic int witnessed; /* a witness thread (front_witness()) maintains
			        * `signal_ns` */
	_Atomic int left; /* by the front: it ends and waits for nothing more */
	_Atomic int64_t ended_ns;
	_Atomic int64_t
		stopped_ns; /* when the front was last asked to stop; 0: never */
};

/* A program has one front. */
struct front_self {
	struct tracer_control *control;
	struct front_page *page;
	pid_t tracer; /* 0: it has ended */
	const struct front_body *body;
	sigset_t not_ours; /* ignored from the start */
	bool quiet;
	bool interrupted; /* the front got SIGINT as well */
	int command_fd; /* pidfd of the command, for orphan.h; -1 */
};

extern struct front_self front_self;

/* ---- front.c ---- */

/* Replaces standard input and output by /dev/null, so that the process at the other end
 * of a pipe notices when the command closes them. */
void front_drop_standard(void);

/* ---- front_signals.c ---- */

/* Signals are unblocked only in ppoll().  There front_on_signal(), the handler, keeps the
 * one that came, and front_take_signal() passes it on to the command.  It returns true
 * when the command has ended and the signal asks the front to end. */
void front_catch_signals(void);
void front_on_signal(int sig, siginfo_t *info, void *context);
bool front_take_signal(void);

/* The command exists from now on: signals of the terminal reach it directly. */
void front_note_early(void);

bool front_asks_to_end(int sig);

/* The command has stopped: stops the front as well, unless the command already
 * continues (`held`: that cannot be known). */
void front_stop_likewise(int sig, bool held);

#endif
