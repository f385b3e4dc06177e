/* hot.h - one CPU for the tracer and the thread it serves.
 *
 * A stop costs two context switches.  On one CPU that is a few microseconds;
 * across CPUs each switch first wakes a sleeping processor, ten to thirty times
 * as long on virtual machines.  The scheduler, seeing an idle CPU, always spreads
 * the two, although they never run at the same time.
 *
 * So while one thread of the tree causes nearly all stops, it and the tracer are
 * bound to one CPU: the thread is "borrowed".  It loses nothing, since it could
 * not run while the tracer does.  The loan ends as soon as the stops become
 * rare or come from several threads, when the thread makes a child (which gets
 * the real affinity), and before any call that asks for or sets an affinity: only
 * a look at /proc/PID/status could tell. */
#ifndef ROAR_TRACE_PTRACE_HOT_H
#define ROAR_TRACE_PTRACE_HOT_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hot {
	bool possible; /* more than one CPU */
	pid_t borrowed; /* thread on loan, 0 none */
	pid_t returned; /* the one that was on loan before, 0 none */
	cpu_set_t thread_cpus; /* own affinity of whichever came last */
	cpu_set_t loan_cpu; /* what it was bound to */
	cpu_set_t tracer_cpus; /* ours */
	/* The current window: */
	pid_t candidate; /* the thread of its first stop */
	unsigned n_stops; /* by the candidate */
	unsigned n_others; /* by anybody else */
	unsigned n_last_tick; /* stops until the last tick */
	unsigned n_total;
	int64_t start_ns;
	int64_t barred_until_ns; /* no new loan before this */
};

void hot_init(struct hot *h);

/* A thread has stopped; it may be borrowed or given back now.  Returns true
 * when a loan has just begun: the caller must call hot_tick() from then on. */
bool hot_stop(struct hot *h, pid_t tid, int64_t now_ns);

/* About 20 ms have passed.  Ends a loan that is no longer used; returns true
 * while there is one. */
bool hot_tick(struct hot *h);

/* Ends the loan, if any, and makes none for a while. */
void hot_end(struct hot *h, int64_t now_ns);

/* `parent` has made `child`, which inherited the bound affinity: also when the loan
 * has ended since. */
void hot_forked(struct hot *h, pid_t parent, pid_t child);

/* The thread has become the leader of its process by execve(); the one that was
 * leader before is gone. */
void hot_renamed(struct hot *h, pid_t former, pid_t tid);

/* The thread is gone. */
void hot_gone(struct hot *h, pid_t tid);

#endif
