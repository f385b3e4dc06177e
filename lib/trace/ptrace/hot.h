/* hot.h - one CPU for the tracer and the thread it serves.
 *
 * A stop costs two context switches.  On one CPU that is a few microseconds.  Across
 * CPUs each switch first wakes an idle processor, which takes ten to thirty times as
 * long on virtual machines.  The scheduler sees an idle CPU and always spreads the two,
 * although they never run at the same time.
 *
 * So while one thread of the tree causes nearly all stops, that thread and the tracer
 * are bound to one CPU: the thread is "borrowed".  The thread loses nothing, since it
 * cannot run while the tracer does.  The loan ends when stops become rare or come from
 * several threads, when the thread makes a child (which gets the real affinity), and
 * before any call that reads or sets an affinity.  So a program sees it only in
 * /proc/PID/status.
 *
 * A struct hot belongs to the tracer's thread. */
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
	cpu_set_t thread_cpus; /* own affinity of the thread that was borrowed last */
	cpu_set_t loan_cpu; /* the CPU it was bound to */
	cpu_set_t tracer_cpus; /* own affinity of the tracer */
	/* The current window: */
	pid_t candidate; /* the thread of its first stop */
	unsigned n_stops; /* by the candidate */
	unsigned n_others; /* by other threads */
	unsigned n_last_tick; /* stops until the last tick */
	unsigned n_total;
	int64_t start_ns;
	int64_t barred_until_ns; /* no new loan before this */
};

void hot_init(struct hot *h);

/* A thread has stopped; a loan may begin or end now.  Returns true when a loan has just
 * begun: the caller must call hot_tick() from then on. */
bool hot_stop(struct hot *h, pid_t tid, int64_t now_ns);

/* About 20 ms have passed.  Ends a loan that is no longer used; returns true
 * while there is one. */
bool hot_tick(struct hot *h);

/* Ends the loan, if any, and starts no new one for a while. */
void hot_end(struct hot *h, int64_t now_ns);

/* `parent` has made `child`, which inherited the bound affinity.  Call it also when the
 * loan has ended since. */
void hot_forked(struct hot *h, pid_t parent, pid_t child);

/* The thread has become the leader of its process by execve(); the former leader has
 * ended. */
void hot_renamed(struct hot *h, pid_t former, pid_t tid);

/* The thread has ended. */
void hot_gone(struct hot *h, pid_t tid);

#endif
