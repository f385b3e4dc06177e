/* front_internal.h - what the two processes of front.h share, and the front's files.
 *
 *	front.c		life, waiting for the end
 *	front_signals.c	what the front does with signals
 *	front_tracer.c	what the tracer's process does for the front */
#ifndef ROAR_RUN_FRONT_INTERNAL_H
#define ROAR_RUN_FRONT_INTERNAL_H

#include <stdatomic.h>
#include <stdint.h>

#include "run/front.h"

/* How long a signal sent to the whole group may take to be seen. */
enum { FRONT_SETTLE_NS = 30000000 };

/* Memory that both processes share: what the tracer has told the front is known even if
 * the tracer is killed.  The tracer writes and the front reads, except `left`. */
struct front_page {
	_Atomic int code; /* exit status of the command; -1: it has not ended */
	_Atomic int by; /* the signal that ended it; 0 none */
	_Atomic unsigned rest; /* enum front_rest */
	_Atomic int witnessed; /* `signal_ns` is the witness's, see there */
	_Atomic int left; /* by the front: it ends and waits for nothing more */
	_Atomic int64_t ended_ns;
	_Atomic int64_t
		stopped_ns; /* when the front was last told to stop; 0 never */
};

/* A program has one front. */
struct front_self {
	struct tracer_control *control;
	struct front_page *page;
	pid_t tracer; /* 0: it is gone */
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

/* The command has stopped: stops the front as well, unless the command goes on already
 * (`held`: that cannot be known). */
void front_stop_likewise(int sig, bool held);

#endif
