/* orphan.h - a command whose tracer was killed.
 *
 * The command continues, but its parent was the tracer, so the front cannot wait for
 * it.  A ptrace tracer receives the stops and the end of a process as its parent does.
 * So the front attaches by ptrace to get the exit code, and observes nothing else.
 * Where that is refused, a pidfd reports the end, and since Linux 6.15 the exit
 * status. */
#ifndef ROAR_RUN_ORPHAN_H
#define ROAR_RUN_ORPHAN_H

#include <stdbool.h>
#include <sys/types.h>

struct orphan {
	pid_t pid;
	int fd; /* readable when it has ended; -1: it had ended before */
	bool held; /* we trace it */
};

/* While the tracer is alive: a pidfd of the process, by which its end is known even if
 * it comes before orphan_init(); or -1. */
int orphan_foresee(pid_t pid);

/* Attaches to the process; `fd` is that of orphan_foresee() and belongs to `o` from now
 * on.  SIGCHLD then announces news, until orphan_release() detaches. */
void orphan_init(struct orphan *o, pid_t pid, int fd);
void orphan_release(struct orphan *o);

enum orphan_news {
	ORPHAN_NOTHING,
	ORPHAN_STOPPED, /* value: the signal */
	ORPHAN_ENDED, /* value: wait status; -1: unknown */
};

/* Returns the next change, without waiting; call it until it returns ORPHAN_NOTHING. */
enum orphan_news orphan_next(struct orphan *o, int *ret_value);

#endif
