/* orphan.h - a command whose tracer was killed.
 *
 * It goes on, but its parent was the tracer, so nobody of us may wait for it.  Who
 * traces a process is told of its stops and of its end like a parent: that is how
 * the front gets its exit code (only then; nothing of the run is observed so).  Where
 * that is refused, a pidfd tells of the end, and since Linux 6.15 how it came. */
#ifndef ROAR_RUN_ORPHAN_H
#define ROAR_RUN_ORPHAN_H

#include <stdbool.h>
#include <sys/types.h>

struct orphan {
	pid_t pid;
	int fd; /* readable when it has ended; -1: it was gone */
	bool held; /* we are told */
};

/* While the tracer is well: a descriptor by which the end of the process is known even
 * if it comes before orphan_init(), or -1. */
int orphan_foresee(pid_t pid);

/* Takes hold of the process, of which `fd` is such a descriptor and is ours from now on;
 * orphan_release() lets it go.  From now on SIGCHLD comes when there is news. */
void orphan_init(struct orphan *o, pid_t pid, int fd);
void orphan_release(struct orphan *o);

enum orphan_news {
	ORPHAN_NOTHING,
	ORPHAN_STOPPED, /* value: the signal */
	ORPHAN_ENDED, /* value: wait status; -1: nobody knows */
};

/* What has happened, without waiting; to be asked until there is nothing. */
enum orphan_news orphan_next(struct orphan *o, int *ret_value);

#endif
