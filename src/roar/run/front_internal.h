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

/* What the tracer's process tells beside the line, so that it is known whatever
 * becomes of that process. */
struct front_page {
	_Atomic int code; /* the command has ended with it; -1: not yet */
	_Atomic int by; /* the signal that ended it; 0 none */
	_Atomic unsigned rest; /* enum front_rest */
	_Atomic int witnessed; /* `signal_ns` is the witness's, see there */
	_Atomic int left; /* the front ends; nobody is to wait for more */
	_Atomic int64_t ended_ns;
	_Atomic int64_t stopped_ns; /* when we were last told to stop; 0 never */
};

/* A program has one front. */
struct front_self {
	struct tracer_control *control;
	struct front_page *page;
	pid_t tracer; /* 0: it is gone */
	const struct front_body *body;
	sigset_t not_ours; /* ignored from the start */
	bool quiet;
	bool interrupted; /* SIGINT came to us, too */
	int command_fd; /* a pidfd, so that its end is not lost with the tracer; -1 */
};

extern struct front_self front_self;

/* ---- front.c ---- */

/* Standard input and output become nothing, so that whoever reads or writes the
 * other end sees the command close them. */
void front_drop_standard(void);

/* ---- front_signals.c ---- */

/* Signals are open only inside of ppoll(); there front_on_signal() keeps the one that
 * came, and front_take_signal() does to the command what was done to us.  Returns true
 * when there is no command any more and we are asked to end. */
void front_catch_signals(void);
void front_on_signal(int sig, siginfo_t *info, void *context);
bool front_take_signal(void);

/* The command exists from now on: what the terminal sends reaches it by itself. */
void front_note_early(void);

bool front_asks_to_end(int sig);

/* The command has stopped: so do we, unless it goes on already (`held`: nobody
 * knows). */
void front_stop_likewise(int sig, bool held);

#endif
