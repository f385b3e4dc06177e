/* runs.h - the programs, and the runs that use them now.
 *
 * Belongs to the daemon's one thread. */
#ifndef ROAR_ROARD_RUNS_H
#define ROAR_ROARD_RUNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/ebpf/load.h"

struct session;

struct runs {
	struct ebpf *programs; /* NULL: not loaded */
	bool lent[EBPF_RINGS];
	uid_t owner[EBPF_RINGS]; /* user of the run that has it */
	int64_t linger_end_ns; /* 0: there are runs, or no hooks are attached */
};

/* Starts a run; loads programs when there are none.  -EPERM when the process does not
 * belong to this user, -EBUSY when there are too many runs. */
int runs_start(struct runs *r, uid_t uid, int pidfd, pid_t pid,
	       struct session **ret_session);
void runs_end(struct runs *r, struct session *session);

/* Renews one ring, if that is useful; returns whether there may be more to do.  For
 * moments in which no client waits. */
bool runs_prepare(struct runs *r);

/* Detaches the hooks some time after the last run has ended.  Returns the milliseconds
 * until then, -1 when there is nothing to detach. */
int runs_rest_ms(struct runs *r);

bool runs_any(const struct runs *r);
void runs_unload(struct runs *r);

#endif
