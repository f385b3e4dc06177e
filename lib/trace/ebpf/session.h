/* session.h - one run, as the programs in the kernel see it.
 *
 * A session has a ring, borrowed for its time, and members: the processes whose
 * deeds go to that ring.  The first member is put in from here while it stands at
 * its gate; all that descend from it are put in by the kernel as they are born.
 * A session uses nothing but descriptors of maps, so it does not matter who
 * loaded the programs.
 *
 * The ring is memory shared with the kernel: a page with the consumer's
 * position, one with the producer's, and the data, mapped twice so that no
 * record is cut.  Nobody is woken before it is half full; the owner drains it by
 * the clock.  A session belongs to one thread. */
#ifndef ROAR_TRACE_EBPF_SESSION_H
#define ROAR_TRACE_EBPF_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct ebpf_maps;
struct remote;
struct session;
struct wire_record;

struct session_state {
	uint64_t lost; /* records that found no room */
	uint64_t escaped; /* processes that could not be made members */
	uint64_t sums_lost; /* of what was read and written; evidence only */
	uint64_t hidden; /* records kept back: see session_guard() */
	uint32_t n_rings; /* of io_uring, that members have set up */
	int n_live; /* processes that have not ended */
};

/* Makes a session without members.  `maps` and their descriptors stay the caller's
 * and must live as long.  -EBUSY when all rings are lent to others. */
int session_open(const struct ebpf_maps *maps, struct session **ret_session);

/* A session on programs that a daemon holds.  Takes `remote` over, whatever comes;
 * the daemon gives the ring when the first member is added. */
int session_open_remote(struct remote *remote, struct session **ret_session);

/* Members that are still alive go on and tell nobody. */
void session_close(struct session *s);
DEFINE_CLEANUP(struct session *, session_close)

/* Makes a process with a single thread a member.  It must not run meanwhile. */
int session_add(struct session *s, pid_t pid);

/* The same for one that is known by a descriptor; `pid` is its number in the records.
 * Not for remote sessions. */
int session_add_pidfd(struct session *s, int pidfd, pid_t pid);

/* From now on only deeds of processes that run with the rights of this user, and no
 * others, are told: who executes a set-user-id program does not learn what that
 * does.  How many records were kept back is counted.  Not for remote sessions. */
int session_guard(struct session *s, uid_t uid);

/* Readable from half full on. */
int session_fd(const struct session *s);

/* Hands all records that are there to `take`, in order; returns how many. */
size_t session_drain(struct session *s,
		     void (*take)(void *ctx, const struct wire_record *r),
		     void *ctx);

/* Is there one that `look` says yes to among the records behind the one that is being
 * taken?  Also yes when there are very many. */
bool session_look_ahead(const struct session *s,
			bool (*look)(void *ctx, const struct wire_record *r),
			void *ctx);

int session_ask(const struct session *s, struct session_state *ret_state);

#endif
