/* remote.h - the client's end of the line to roard (roard.h). */
#ifndef ROAR_TRACE_EBPF_REMOTE_H
#define ROAR_TRACE_EBPF_REMOTE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"

struct remote;
struct session_state;

/* Does somebody listen at the socket?  Some ten microseconds. */
bool remote_answers(void);

/* Connects and makes sure that the other end is of this build. */
int remote_open(struct remote **ret_remote, struct roar_error *err);
void remote_close(struct remote *r);
DEFINE_CLEANUP(struct remote *, remote_close)

/* Starts the run with the process `pidfd`, which is `pid` to us.  Returns the
 * descriptor of the ring, the caller's, or a negative errno. */
int remote_start(struct remote *r, int pidfd, pid_t pid);

/* -EPIPE when the daemon has gone: then there are no records since. */
int remote_ask(struct remote *r, struct session_state *ret_state);

#endif
