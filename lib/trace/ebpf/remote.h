/* remote.h - the client's end of the connection to roard (roard.h). */
#ifndef ROAR_TRACE_EBPF_REMOTE_H
#define ROAR_TRACE_EBPF_REMOTE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"

struct remote;
struct session_state;

/* Is a daemon listening at the socket?  Takes some ten microseconds. */
bool remote_answers(void);

/* Connects and checks that the daemon is of this build. */
int remote_open(struct remote **ret_remote, struct roar_error *err);
void remote_close(struct remote *r);
DEFINE_CLEANUP(struct remote *, remote_close)

/* Starts the run with the process `pidfd`, whose pid is `pid` for us.  Returns the
 * descriptor of the ring, owned by the caller, or a negative errno. */
int remote_start(struct remote *r, int pidfd, pid_t pid);

/* Reads the state.  -EPIPE when the daemon has ended: then there are no records since. */
int remote_ask(struct remote *r, struct session_state *ret_state);

#endif
