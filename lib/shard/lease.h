/* lease.h - positions of an epoch handed out on demand, for uneven workers.
 *
 * Where some workers are slower than others, none is given its part in advance: who
 * has nothing takes a chunk, says how far it has come, and takes the next.  A chunk is
 * lent until a deadline, which each word of progress moves on.  A holder that is silent
 * for longer, or leaves, loses the lease, and what it had not consumed is handed out
 * again, first of all.
 *
 *	free ──take──▶ lent ──progress──▶ consumed
 *	  ▲              │
 *	  └──give_back, leave, deadline
 *
 * What a late holder says afterwards is a choice:
 *
 *	LEASE_EXACTLY_ONCE	is refused (-ESTALE).  Consumed is what was confirmed,
 *				so a worker must not count what was refused: apply
 *				a chunk when its progress was accepted.
 *	LEASE_AT_LEAST_ONCE	still counts, and what nobody else has taken
 *				meanwhile need not be done again.  A position may then be
 *				worked on twice; `repeated` counts those that were.
 *
 * There is no clock and no I/O here: time is what the caller says, and the same calls
 * lead to the same state, so a log of them is enough to restore it.  Time never goes
 * back; an earlier one counts as the latest heard of. */
#ifndef ROAR_SHARD_LEASE_H
#define ROAR_SHARD_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shard/ranges.h"

struct roar_error;
struct str;

enum lease_mode {
	LEASE_EXACTLY_ONCE,
	LEASE_AT_LEAST_ONCE,
};

enum {
	LEASE_MAX = 1 << 16, /* leases at a time */
};

struct lease_spec {
	uint64_t total; /* positions, 1 to 2^63 - 1 */
	uint64_t chunk; /* positions of a lease, at most */
	int64_t timeout_ms; /* 1 or more */
	enum lease_mode mode;
};

struct lease {
	uint64_t id; /* grows: a later lease has a higher one */
	uint64_t holder; /* the caller's number for a worker */
	struct shard_range range; /* that is not consumed yet */
	int64_t deadline_ms;
	bool late; /* the deadline is over: at least once only */
};

struct leases {
	struct lease_spec spec;
	struct shard_ranges free;
	struct shard_ranges consumed;
	struct lease *items; /* by id */
	size_t n;
	size_t cap;
	uint64_t next_id;
	int64_t now_ms; /* the latest heard of */
	int64_t soonest_ms; /* no deadline is before it */
	uint64_t reissued; /* leases that were lost or given back with a rest */
	uint64_t repeated; /* positions that were consumed again */
};

/* `before` is what was consumed earlier, or NULL; it is copied.  -EINVAL with a
 * sentence, -ENOMEM. */
int leases_init(struct leases *l, const struct lease_spec *spec,
		const struct shard_ranges *before, struct roar_error *err);
void leases_release(struct leases *l);

/* Lends the first free positions.  -ENODATA when all are consumed, -EAGAIN when all
 * that are not are lent (leases_next_deadline() says when to come back, at the
 * latest), -ENOBUFS with LEASE_MAX leases, -ENOMEM. */
int leases_take(struct leases *l, uint64_t holder, int64_t now_ms,
		struct lease *ret);

/* The first `n` positions of the lease are consumed, and the deadline moves on; with
 * all of them the lease ends.  n = 0 is a sign of life.  *ret_new, which may be NULL,
 * is how many of them nobody had consumed before.  -ESTALE for a lease that is no more,
 * -EACCES for another's, -EINVAL for more than it has, -ENOBUFS, -ENOMEM. */
int leases_progress(struct leases *l, uint64_t id, uint64_t holder, uint64_t n,
		    int64_t now_ms, uint64_t *ret_new);

/* Ends a lease; what it had not consumed is free.  Errors as above. */
int leases_give_back(struct leases *l, uint64_t id, uint64_t holder,
		     int64_t now_ms);

/* Ends all leases of one who is gone. */
int leases_leave(struct leases *l, uint64_t holder, int64_t now_ms);

/* Ends the leases whose deadline is over; the other calls do so first. */
int leases_expire(struct leases *l, int64_t now_ms);

/* The first deadline, INT64_MAX without leases. */
int64_t leases_next_deadline(const struct leases *l);

/* ---- as bytes (lease_code.c) ---- */

/* Appends everything, with a checksum; str_error() tells whether there was memory. */
void leases_encode(const struct leases *l, struct str *out);

/* Reads that back, all of `len` bytes.  Clocks differ from process to process, so each
 * lease has as much time as it had left, from `now_ms` on.  -EBADMSG for bytes that are
 * none, -ENOBUFS, -ENOMEM. */
int leases_decode(struct leases *l, const void *data, size_t len,
		  int64_t now_ms);

#endif
