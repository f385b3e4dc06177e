/* runs.h - the programs, and the runs that use them now. */
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
	uid_t owner[EBPF_RINGS]; /* of the run that has it */
	int64_t linger_end_ns; /* 0: there are runs, or nobody watches */
};

/* Starts a run; loads programs when there are none.  -EPERM when the process is not
 * this user's, -EBUSY when there are too many runs. */
int runs_start(struct runs *r, uid_t uid, int pidfd, pid_t pid,
	       struct session **ret_session);
void runs_end(struct runs *r, struct session *session);

/* Renews one ring, if that would be of use; returns whether there may be more to do.
 * For moments in which nobody waits. */
bool runs_prepare(struct runs *r);

/* Takes the hooks off when the last run has ended a moment ago.  Returns the
 * milliseconds until that is to be done, -1 when it is not. */
int runs_rest_ms(struct runs *r);

bool runs_any(const struct runs *r);
void runs_unload(struct runs *r);

#endif
