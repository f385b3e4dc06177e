/* roard.h - the protocol between roar and the daemon roard.
 *
 * roard holds the eBPF programs for users who may not load any.  A connection to its
 * socket (AF_UNIX, SOCK_SEQPACKET) is one run; every message is one packet of fixed
 * size, and every request has one reply:
 *
 *	HELLO			are client and daemon of one build?
 *	START, a pidfd		the process, which waits at its gate, and all its
 *				descendants are the run; the reply has the
 *				ring with their records (wire.h)
 *	STATE			counters of the run
 *
 * The end of the connection is the end of the run.  The kernel reports the user to the
 * daemon (SO_PEERCRED), which accepts only processes that run with this user's identity
 * and no other.  The ring was made for this run and is never used for another.  Bytes
 * have the order of the machine: both ends are on it. */
#ifndef ROAR_TRACE_EBPF_ROARD_H
#define ROAR_TRACE_EBPF_ROARD_H

#include <stdint.h>

#define ROARD_SOCKET "/run/roar/roard.sock"
#define ROARD_SOCKET_VARIABLE "ROAR_ROARD_SOCKET"

enum {
	ROARD_MAGIC = 0x64726172, /* "rard" */
	ROARD_VERSION = 2,
	ROARD_BUILD_LEN = 48,
};

enum roard_kind {
	ROARD_HELLO = 1,
	ROARD_START,
	ROARD_STATE,
	ROARD_KIND_END,
};

struct roard_request {
	uint32_t magic;
	uint16_t version;
	uint16_t kind; /* enum roard_kind */
	int32_t pid; /* START: the process, in the client's pid namespace */
	uint32_t unused; /* 0 */
};

struct roard_reply {
	uint32_t magic;
	uint16_t version;
	uint16_t kind; /* of the request */
	int32_t error; /* 0 or a negative errno */
	int32_t n_live; /* STATE: as in struct session_state */
	uint64_t lost;
	uint64_t escaped;
	uint64_t sums_lost;
	uint64_t hidden; /* records withheld: actions of other users */
	uint64_t n_rings;
	char build[ROARD_BUILD_LEN]; /* HELLO: identity of the programs */
};

_Static_assert(sizeof(struct roard_request) == 16, "wire layout");
_Static_assert(sizeof(struct roard_reply) == 104, "wire layout");

/* Is the packet a valid request?  0 or -EBADMSG, -EPROTONOSUPPORT. */
int roard_check_request(const void *data, uint64_t len);
int roard_check_reply(const void *data, uint64_t len, enum roard_kind kind);

/* The identity of the programs in this build. */
void roard_build(char build[ROARD_BUILD_LEN]);

/* The path of the socket: from the variable, or the default. */
const char *roard_socket_path(void);

#endif
