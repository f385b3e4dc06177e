/* protocol.h - the daemon's replies (messages: roard.h).
 *
 * Nothing here does any I/O: the host starts runs and counts, so that a test can be the
 * host. */
#ifndef ROAR_ROARD_PROTOCOL_H
#define ROAR_ROARD_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "trace/ebpf/roard.h"
#include "trace/ebpf/session.h"

struct protocol_host {
	/* Starts the run of the process `pidfd` for `uid`; 0 or negative errno.
	 * `ret_ring` is its ring, which the host owns. */
	int (*start)(void *ctx, uid_t uid, int pidfd, pid_t pid, int *ret_ring);
	int (*state)(void *ctx, struct session_state *ret);
	void *ctx;
};

/* Answers one packet.  `fd` came with it (-1: none) and stays the caller's.
 * `*ret_ring` is sent with the reply (-1: none).  False: this is not our protocol, and
 * the connection must be closed after the reply. */
bool protocol_answer(const struct protocol_host *host, uid_t uid,
		     const void *data, size_t len, int fd,
		     struct roard_reply *ret, int *ret_ring);

#endif
