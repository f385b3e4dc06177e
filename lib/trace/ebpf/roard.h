/* roard.h - what roar and the daemon roard say to each other.
 *
 * roard holds the eBPF programs for users who may not load any.  A connection to its
 * socket (AF_UNIX, SOCK_SEQPACKET) is one run; every message is one packet of fixed
 * size, and every request has one reply:
 *
 *	HELLO			are we of one build?
 *	START, a pidfd		the process, which waits at its gate, and all that
 *				descend from it are the run; the reply brings the
 *				ring with their records (wire.h)
 *	STATE			counters of the run; also what END would say
 *
 * The end of the connection is the end of the run.  The daemon knows the user by
 * the kernel (SO_PEERCRED) and takes only processes that are this user's and
 * nobody else's; the ring was made for this run and is never used for another.
 * Bytes have the order of the machine: both ends are on it. */
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
	int32_t pid; /* START: the process, as the client counts */
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
	uint64_t hidden; /* records kept back: deeds of other users */
	uint64_t n_rings;
	char build[ROARD_BUILD_LEN]; /* HELLO: identity of the programs */
};

_Static_assert(sizeof(struct roard_request) == 16, "wire layout");
_Static_assert(sizeof(struct roard_reply) == 104, "wire layout");

/* Is it a request that can be acted on?  0 or -EBADMSG, -EPROTONOSUPPORT. */
int roard_check_request(const void *data, uint64_t len);
int roard_check_reply(const void *data, uint64_t len, enum roard_kind kind);

/* The identity of the programs in this build. */
void roard_build(char build[ROARD_BUILD_LEN]);

/* The path of the socket: that of the variable, or the usual one. */
const char *roard_socket_path(void);

#endif
