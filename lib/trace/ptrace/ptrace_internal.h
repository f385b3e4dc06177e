/* ptrace_internal.h - what the files of this folder share.
 *
 *	inner_tracer.c	LeakSanitizer, a tracer inside the run
 *	ptrace.c	the loop: stops of threads, system calls, signals
 *	ptrace_tree.c	the process tree: fork, exec, group stops, exits
 *
 * Threads: all of it belongs to the tracer's thread, which ptrace binds the tracees
 * to. */
#ifndef ROAR_TRACE_PTRACE_PTRACE_INTERNAL_H
#define ROAR_TRACE_PTRACE_PTRACE_INTERNAL_H

#include <sys/ptrace.h>

#include "trace/call/call.h"
#include "trace/ptrace/hot.h"

enum {
	N_UNTOLD = 64,
	EARLY_MAX = 16,
};

struct ptracer {
	struct tracer base;
	struct observer o;
	struct tracer_result result;
	struct hot hot;
	bool root_gone;
	struct untold { /* ended before the fork events of their parents */
		pid_t tid;
		int status;
		bool thread; /* not a process of its own */
	} untold[N_UNTOLD];
	unsigned n_untold;
	unsigned n_held; /* threads that wait for the fork event of their
			  * parent */
	bool forgetful; /* out of memory: some of those events will not be
			 * recognized */
	bool stepping; /* no seccomp filter: every call stops */
	bool root_stopped; /* by a group stop */
	pid_t stopper; /* the thread whose stop that was */
	unsigned timer_ms; /* interval of the timer, 0: it is off */
	struct {
		pid_t tid;
		int status;
	} early[EARLY_MAX]; /* stops taken out of turn, oldest first */
	unsigned n_early;
};

/* Resumes a thread.  Failure means that it was killed meanwhile; waitpid() will report
 * that. */
static inline void ptracer_resume(struct ptracer *p, struct tracee *t, int sig)
{
	bool to_exit = p->stepping || t->pending.call != CALL_NONE;

	/* The stop that was served has used up the one that was asked for. */
	if (t->inner.state == INNER_ASKED)
		(void)ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
	(void)ptrace(to_exit ? PTRACE_SYSCALL : PTRACE_CONT, t->tid, 0,
		     (void *)(uintptr_t)sig);
}

/* ---- ptrace_tree.c ---- */

/* `parent` has stopped because it made a child (PTRACE_EVENT_FORK, VFORK, CLONE). */
void ptracer_forked(struct ptracer *p, struct tracee *parent, bool vfork);

/* The first stop of a thread whose parent's fork event has not come yet.  The thread
 * waits for that event; if the parent is killed first, the thread is resumed. */
void ptracer_first_stop(struct ptracer *p, pid_t tid);

/* A thread has executed a program and become the leader `tid` of its process.  Returns
 * that leader; NULL when it is unknown. */
struct tracee *ptracer_executed(struct ptracer *p, pid_t tid);

/* A thread has stopped together with its process (Ctrl-Z). */
void ptracer_group_stop(struct ptracer *p, struct tracee *t, int sig);

/* Reports that the command is stopped by `sig`, or continues, if that is new. */
void ptracer_set_stopped(struct ptracer *p, bool stopped, int sig);

/* A thread has ended with this wait status. */
void ptracer_gone(struct ptracer *p, pid_t tid, int status);

#endif
