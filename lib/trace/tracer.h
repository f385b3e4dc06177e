/* tracer.h - run a command and tell what its process tree did with files.
 *
 * One vtable, several backends.  A tracer starts the command as a child of the
 * calling process, delivers events (event.h) to a sink until the command has
 * ended, and reports how.  What it cannot see it says with EVENT_GAP records;
 * it never kills or re-runs the command for its own sake.
 *
 *	tracer_start()	makes the child, which waits at the gate
 *	tracer_run()	opens the gate and follows the tree until the command
 *			itself has ended and the rest with it, or a short
 *			grace has passed
 *	tracer_linger()	serves processes that outlived the command, without
 *			recording, until the last of them is gone
 *	tracer_free()
 *
 * Threads: all four are called on one thread, because ptrace binds tracees to
 * the thread that attached them.  The sink runs there too and must be quick:
 * a traced process is waiting.  The caller has blocked or ignored the signals
 * that a terminal sends; the child gets `mask` and default dispositions back. */
#ifndef ROAR_TRACE_TRACER_H
#define ROAR_TRACE_TRACER_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/stamp.h"

struct event;
struct sums;
struct tracer;

/* For stragglers when the command has ended. */
enum { TRACER_GRACE_NS = 250000000 };

/* A page shared between the tracer, its front process and the new child. */
struct tracer_control {
	_Atomic pid_t command; /* its pid; 0 before, -1 after its life */
	_Atomic int gate; /* futex: the child waits here until it is 1 */
	_Atomic int child_errno; /* why the child could not execute; else 0 */
	_Atomic int seccomp_errno; /* why there is no filter; else 0 */
	_Atomic int kill_all; /* the user wants the tree dead */
	_Atomic int stopped; /* the command is stopped (Ctrl-Z) */
	_Atomic int sees_signals; /* signal_ns is kept; set by start() */
	_Atomic int n_interrupts; /* signals that ask the command to end */
	_Atomic int64_t signal_ns[65]; /* when the command last got a signal */
	_Atomic int64_t gate_ns; /* when the gate was opened, monotonic */
};

/* What the caller wants to run, and who listens. */
struct tracer_job {
	const char *file; /* resolved path of the program */
	char *const *argv;
	char *const *envp;
	sigset_t mask; /* signal mask of the command */
	sigset_t ignored; /* signals the command starts out ignoring */
	struct tracer_control *control; /* MAP_SHARED */

	/* Names what a killed tracer leaves behind, for hybrid_recover().  NULL:
	 * nobody will ask, so nothing is left. */
	const char *run;

	/* Takes one event.  The record is only valid during the call. */
	void (*sink)(void *ctx, const struct event *ev);

	/* A process is about to open this existing regular file for writing,
	 * or to remove or replace it; it waits until the call returns.  Not
	 * every backend can say so.  May be NULL. */
	void (*before_change)(void *ctx, const char *path, size_t len,
			      const struct stamp *stamp);

	/* A process is about to unmount what is mounted here; it waits until the
	 * call returns.  May be NULL. */
	void (*before_unmount)(void *ctx, const char *path, size_t len);

	/* Called 100 ms after an event, then again after as many milliseconds
	 * as it returns; 0: not before the next event.  May be NULL. */
	unsigned (*tick)(void *ctx);

	/* The command was stopped by this signal (Ctrl-Z), or goes on (SIGCONT).
	 * control->stopped says the same.  May be NULL. */
	void (*stopped)(void *ctx, int sig);

	/* Backends that count bytes add them up here, by file; the caller's, who
	 * looks at it after tracer_run().  May be NULL. */
	struct sums *sums;

	void *ctx;
};

struct tracer_result {
	int status; /* wait status of the command */
	int exec_errno; /* the command could not be executed: why; else 0 */
	bool traced; /* false: it ran, but nothing was observed */
	unsigned n_outlived; /* processes still alive: call tracer_linger() */
	struct rusage usage; /* of the whole tree, as far as it was reaped */
	uint64_t n_stops; /* how often a tracee waited for the tracer */
	uint64_t n_lost; /* events, where the backend counts them */
	uint64_t n_escaped; /* processes that it could not follow; as n_lost */
	uint64_t n_rings; /* io_uring instances; where they are no gap */
};

struct tracer_ops {
	const char *name; /* "ptrace" */
	const char *summary; /* one line for help */
	bool waits; /* who did it waits until the sink has taken the event */
	int (*start)(const struct tracer_job *job, struct tracer **ret,
		     struct roar_error *err);
	int (*run)(struct tracer *t, struct tracer_result *ret,
		   struct roar_error *err);
	void (*linger)(struct tracer *t);
	void (*free)(struct tracer *t);
};

/* The first member of every backend's own struct. */
struct tracer {
	const struct tracer_ops *ops;
	const struct tracer_job *job; /* set by tracer_start() */
};

/* All backends, ended by NULL; probe.h knows which one a machine should take. */
extern const struct tracer_ops *const tracer_backends[];

/* Runs the command without observing it; not in the list above. */
extern const struct tracer_ops tracer_none;

/* The backend of that name; "auto" is the first.  NULL when unknown. */
const struct tracer_ops *tracer_find(const char *name);

/* Starts the command under `ops`.  When that backend is refused by the machine
 * (-EPERM, -ENOSYS, ...) no process is left behind and the caller may start
 * another backend: the command has not run. */
int tracer_start(const struct tracer_ops *ops, const struct tracer_job *job,
		 struct tracer **ret_tracer, struct roar_error *err);
int tracer_run(struct tracer *t, struct tracer_result *ret,
	       struct roar_error *err);
void tracer_linger(struct tracer *t);
void tracer_free(struct tracer *t);
DEFINE_CLEANUP(struct tracer *, tracer_free)

/* A zeroed control page; NULL without memory. */
struct tracer_control *tracer_control_new(void);

#endif
