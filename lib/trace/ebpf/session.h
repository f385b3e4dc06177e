/* session.h - one run, as the programs in the kernel see it.
 *
 * A session has a ring, borrowed for its duration, and members: the processes whose
 * actions are recorded in that ring.  The first member is added from here while it
 * waits at its gate; the kernel adds its descendants as they are created.  A session
 * uses only descriptors of maps, so any process may have loaded the programs.
 *
 * The ring is memory shared with the kernel: a page with the consumer's position, one
 * with the producer's, and the data, mapped twice so that no record is split.  The
 * kernel does not wake the reader before the ring is half full; the owner drains it
 * periodically.  A session belongs to one thread. */
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
	uint64_t lost; /* records lost because the ring was full */
	uint64_t escaped; /* processes that could not be made members */
	uint64_t sums_lost; /* lost byte counts; evidence only */
	uint64_t hidden; /* records withheld: see session_guard() */
	uint32_t n_rings; /* io_uring instances that members have set up */
	int n_live; /* processes that have not ended */
};

/* Makes a session without members.  The caller owns `maps` and their descriptors, which
 * must live as long as the session.  -EBUSY when all rings are in use. */
int session_open(const struct ebpf_maps *maps, struct session **ret_session);

/* A session on programs that a daemon holds.  Takes ownership of `remote`, also on
 * failure; the daemon sends the ring when the first member is added. */
int session_open_remote(struct remote *remote, struct session **ret_session);

/* Members that are still alive continue unobserved. */
void session_close(struct session *s);
DEFINE_CLEANUP(struct session *, session_close)

/* Makes a process with a single thread a member.  It must not run meanwhile. */
int session_add(struct session *s, pid_t pid);

/* The same for a process given by a descriptor; `pid` is its number in the records.
 * Not for remote sessions. */
int session_add_pidfd(struct session *s, int pidfd, pid_t pid);

/* From now on only actions of processes that run with this user's identity, and no
 * other, are recorded: a user that executes a set-user-id program does not learn what
 * it does.  Withheld records are counted.  Not for remote sessions. */
int session_guard(struct session *s, uid_t uid);

/* A descriptor that is readable when the ring is half full. */
int session_fd(const struct session *s);

/* Passes all available records to `take`, in order; returns their number. */
size_t session_drain(struct session *s,
		     void (*take)(void *ctx, const struct wire_record *r),
		     void *ctx);

/* Is there a record after the current one for which `look` returns true?  Also true
 * when there are very many. */
bool session_look_ahead(const struct session *s,
			bool (*look)(void *ctx, const struct wire_record *r),
			void *ctx);

int session_ask(const struct session *s, struct session_state *ret_state);

#endif
