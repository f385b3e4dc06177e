/* tracer.h - run a command and report what its process tree did with files.
 *
 * One vtable, several backends.  A tracer starts the command as a child of the calling
 * process, delivers events (event.h) to a sink until the command has ended, and returns
 * its status.  It reports what it cannot see as EVENT_GAP records.  It never kills the
 * command, and never runs it twice, for reasons of its own.
 *
 *	tracer_start()	makes the child, which waits at the gate
 *	tracer_run()	opens the gate and follows the tree until the command
 *			and all its descendants have ended, or the command has
 *			ended and a short grace period has passed
 *	tracer_linger()	serves processes that outlived the command, without
 *			recording, until the last of them has ended
 *	tracer_free()
 *
 * Threads: call all four on one thread, because ptrace binds tracees to the thread that
 * attached them.  The sink runs on that thread too and must be quick: a traced process
 * is waiting.  The caller has blocked or ignored the signals that a terminal sends; the
 * child gets `mask` and default dispositions back. */
#ifndef ROAR_TRACE_TRACER_H
#define ROAR_TRACE_TRACER_H

#include <pthread.h>
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

/* How long tracer_run() waits for descendants after the command has ended. */
enum { TRACER_GRACE_NS = 250000000 };

/* A page shared by the tracer's process, its front process and the new child.  No lock:
 * every field is an atomic of its own, and no order between two of them is relied on,
 * except that child_errno and seccomp_errno are set before the child executes or exits.
 * The comment names the writer. */
struct tracer_control {
	_Atomic pid_t command; /* tracer: the pid; 0 before the command starts, -1
			        * after it has ended */
	_Atomic int gate; /* tracer: futex, the child waits here while it is 0 */
	_Atomic int child_errno; /* child: why it could not execute; else 0 */
	_Atomic int seccomp_errno; /* child: why there is no filter; else 0 */
	_Atomic int kill_all; /* front: the user asked to kill the tree */
	_Atomic int stopped; /* tracer: the command is stopped (Ctrl-Z) */
	_Atomic int sees_signals; /* tracer's process: signal_ns is maintained */
	_Atomic int n_interrupts; /* tracer and front: signals that ask the command
				   * to end */
	_Atomic int64_t signal_ns[65]; /* both: when the command last got a
				        * signal */
	_Atomic int64_t gate_ns; /* tracer: when the gate was opened, monotonic */
};

/* What to run, and the callbacks that receive the results. */
struct tracer_job {
	const char *file; /* resolved path of the program */
	char *const *argv;
	char *const *envp;
	sigset_t mask; /* signal mask of the command */
	sigset_t ignored; /* signals the command starts out ignoring */
	struct tracer_control *control; /* MAP_SHARED */

	/* Names the files that a killed tracer leaves, for hybrid_recover().  NULL: the
	 * caller will not recover the run, so nothing is left. */
	const char *run;

	/* Receives one event.  The record is only valid during the call. */
	void (*sink)(void *ctx, const struct event *ev);

	/* A process is about to open this existing regular file for writing, or to
	 * remove or replace it; it waits until the call returns.  Not every backend can
	 * report this.  May be NULL. */
	void (*before_change)(void *ctx, const char *path, size_t len,
			      const struct stamp *stamp);

	/* A process is about to unmount the file system mounted here; it waits until
	 * the call returns.  May be NULL. */
	void (*before_unmount)(void *ctx, const char *path, size_t len);

	/* Called 100 ms after an event, then again after as many milliseconds
	 * as it returns; 0: not before the next event.  May be NULL. */
	unsigned (*tick)(void *ctx);

	/* The command was stopped by this signal (Ctrl-Z), or continues (SIGCONT).
	 * control->stopped has the same information.  May be NULL. */
	void (*stopped)(void *ctx, int sig);

	/* Backends that count bytes add them here, by file.  Owned by the caller, which
	 * reads it after tracer_run().  May be NULL. */
	struct sums *sums;

	void *ctx;
};

struct tracer_result {
	int status; /* wait status of the command */
	int exec_errno; /* why the command could not be executed; else 0 */
	bool traced; /* false: the command ran unobserved */
	unsigned n_outlived; /* processes still alive: call tracer_linger() */
	struct rusage usage; /* of the whole tree, as far as its processes were
			      * waited for */
	uint64_t n_stops; /* how often a tracee waited for the tracer */
	uint64_t n_lost; /* lost events, if the backend counts them */
	uint64_t n_escaped; /* processes that the backend could not follow; as
			     * n_lost */
	uint64_t n_rings; /* io_uring instances, if the backend can observe them */
};

struct tracer_ops {
	const char *name; /* "ptrace" */
	const char *summary; /* one line for help */
	bool waits; /* the process waits until the sink has taken its event */
	bool streams; /* it reports the standard streams of programs itself, with
		       * EVENT_PASSED */
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
	pthread_t thread; /* the one that called tracer_start() */
};

/* All backends, terminated by NULL; probe.h chooses one for this machine. */
extern const struct tracer_ops *const tracer_backends[];

/* Runs the command without observing it; not in the list above. */
extern const struct tracer_ops tracer_none;

/* Finds a backend by name; "auto" is the first one.  NULL when the name is unknown. */
const struct tracer_ops *tracer_find(const char *name);

/* Starts the command under `ops`.  When the machine refuses that backend (-EPERM,
 * -ENOSYS, ...), no process is left and the caller may start another backend: the
 * command has not run. */
int tracer_start(const struct tracer_ops *ops, const struct tracer_job *job,
		 struct tracer **ret_tracer, struct roar_error *err);
int tracer_run(struct tracer *t, struct tracer_result *ret,
	       struct roar_error *err);
void tracer_linger(struct tracer *t);
void tracer_free(struct tracer *t);
DEFINE_CLEANUP(struct tracer *, tracer_free)

/* A zeroed control page; NULL when out of memory. */
struct tracer_control *tracer_control_new(void);

#endif
