/* lease.h - positions of an epoch leased on demand, for workers of uneven speed.
 *
 * No worker gets a fixed part in advance: an idle worker takes a chunk, reports its
 * progress, and takes the next.  A lease has a deadline, which each report of its holder
 * extends.  A holder that is silent for longer, or leaves, loses the lease, and what it had
 * not consumed goes back to the head of the queue.
 *
 *	free ──take──▶ leased ──progress──▶ consumed
 *	  ▲              │
 *	  └──give_back, leave, lapse
 *
 * The mode decides what a report after the deadline does:
 *
 *	LEASE_EXACTLY_ONCE	it is refused (-ESTALE).  Only confirmed positions are
 *				consumed, so a worker must apply a chunk only after its
 *				progress was accepted.
 *	LEASE_AT_LEAST_ONCE	it still counts, and positions that no other worker has
 *				taken meanwhile need not be done again.  A position may be
 *				processed twice; `repeated` counts these.
 *
 * Retries are idempotent: a holder whose reply was lost repeats the call and gets the same
 * reply.  So a lease knows the request that took it and what its last report added, and the
 * last LEASE_PAST ended leases of each holder are remembered (lease_history.c) as long as
 * the caller keeps them, also after the end of the epoch (leases_close()).
 *
 * The module has no clock and does no I/O.  The same calls lead to the same state, so a log
 * of calls restores it.  Time is not part of that state: deadlines are by the caller's
 * clock, are not encoded, and nothing ends by itself.  The caller asks which leases are
 * overdue (leases_overdue()) and ends them (leases_lapse()), a call like the others. */
#ifndef SHARD_LEASE_LEASE_H
#define SHARD_LEASE_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shard/order/interval_set.h"

struct roar_error;
struct str;

enum lease_mode {
	LEASE_EXACTLY_ONCE,
	LEASE_AT_LEAST_ONCE,
};

enum {
	LEASE_MAX = 1 << 16, /* leases at a time */
	LEASE_HOLDERS = 1 << 20, /* holder numbers are below this */
	LEASE_PAST = 8, /* ended leases remembered of a holder */
};

struct lease_spec {
	uint64_t total; /* positions, 1 to 2^63 - 1 */
	uint64_t chunk; /* positions of a lease, at most */
	int64_t timeout_ms; /* 1 or more */
	enum lease_mode mode;
};

struct lease {
	uint64_t id; /* increases: a later lease has a higher one */
	uint64_t holder; /* the caller's number for a worker, from 0 on */
	uint64_t request; /* number of the request that took it; 0: none */
	uint64_t began; /* its first position */
	struct shard_range range; /* not consumed yet */
	uint64_t n_new; /* positions that its last report added */
	bool late; /* lapsed, reports still count: AT_LEAST_ONCE only */
	int64_t deadline_ms; /* by the caller's clock; not part of the state */
};

enum lease_end_kind {
	LEASE_USED_UP,
	LEASE_GIVEN_BACK,
	LEASE_LOST, /* lapsed, or its holder left */
};

struct lease_end {
	uint64_t id;
	uint64_t began; /* its first position */
	uint64_t to; /* positions below this are consumed */
	uint64_t n_new; /* positions that its last report added */
	enum lease_end_kind kind;
};

struct lease_past { /* of one holder */
	struct lease_end ends[LEASE_PAST]; /* the oldest first */
	uint32_t n;
};

struct leases {
	struct lease_spec spec;
	struct interval_set free;
	struct interval_set consumed;
	struct lease *items; /* by id */
	size_t n;
	size_t cap;
	struct lease_past **past; /* by holder; NULL: none */
	size_t n_past;
	size_t cap_past;
	uint64_t next_id;
	uint64_t reissued; /* leases that ended with positions left */
	uint64_t repeated; /* positions consumed more than once */
	int64_t soonest_ms; /* lower bound of all deadlines */
};

/* `before` is the set of positions consumed earlier, or NULL; it is copied.  -EINVAL, with
 * a message; -ENOMEM. */
int leases_init(struct leases *l, const struct lease_spec *spec,
		const struct interval_set *before, struct roar_error *err);
void leases_release(struct leases *l);

/* Reserves memory for the next call of this holder and for the end of all leases.  So
 * leases_take() and leases_progress() cannot fail with -ENOMEM after it, and functions that
 * end leases never do.  They call this themselves first.  -ENOMEM. */
int leases_reserve(struct leases *l, uint64_t holder);

/* NULL: no such lease. */
const struct lease *leases_find(const struct leases *l, uint64_t id);
/* The lease that the holder took by this request and has not lost; NULL for request 0. */
const struct lease *leases_find_request(const struct leases *l, uint64_t holder,
					uint64_t request);

/* Leases the first free positions.  -ENODATA: all positions are consumed; -EAGAIN: all
 * others are leased (retry at leases_next_deadline() at the latest); -ENOBUFS: there are
 * LEASE_MAX leases; -ENOMEM. */
int leases_take(struct leases *l, uint64_t holder, uint64_t request,
		int64_t now_ms, struct lease *ret);

/* Reports the first `n` positions of the lease as consumed; with all of them the lease
 * ends.  *ret_new, which may be NULL, is the number of positions that were not consumed
 * before.  -ESTALE: the lease has ended; -EACCES: it belongs to another holder; -EINVAL: it
 * has fewer positions; -ENOBUFS, -ENOMEM. */
int leases_progress(struct leases *l, uint64_t id, uint64_t holder, uint64_t n,
		    uint64_t *ret_new);

/* Ends a lease; its unconsumed positions become free.  -ESTALE, -EACCES. */
int leases_give_back(struct leases *l, uint64_t id, uint64_t holder);

/* The deadline has passed: its unconsumed positions become free.  In LEASE_EXACTLY_ONCE the
 * lease ends.  -ESTALE: the lease has ended, or has lapsed already. */
int leases_lapse(struct leases *l, uint64_t id);

/* Ends all leases of a holder that has left. */
void leases_leave(struct leases *l, uint64_t holder);

/* The epoch is over: ends all leases, and none can be taken any more.  After that only
 * leases_ended(), leases_forget() and leases_encode() are useful. */
void leases_close(struct leases *l);

/* ---- deadlines ---- */

/* The holder sent a request: its deadline is a whole timeout from now. */
void leases_renew(struct leases *l, uint64_t id, int64_t now_ms);
/* The same for all leases, after a time in which no holder could be heard. */
void leases_renew_all(struct leases *l, int64_t now_ms);
/* No holder could be heard for `ms`: moves all deadlines by as much. */
void leases_excuse(struct leases *l, int64_t ms);

/* The earliest deadline; INT64_MAX: no leases. */
int64_t leases_next_deadline(const struct leases *l);
/* The leases whose deadline has passed, up to `max` of them.  Returns their number. */
size_t leases_overdue(struct leases *l, int64_t now_ms, uint64_t *ret_ids,
		      size_t max);

/* ---- ended leases (lease_history.c) ---- */

/* How a lease of this holder ended; NULL: it has not ended, or is forgotten. */
const struct lease_end *leases_ended(const struct leases *l, uint64_t holder,
				     uint64_t id);
/* The holder number will be reused: forgets the ended leases of its previous worker. */
void leases_forget(struct leases *l, uint64_t holder);

/* For lease.c and lease_code.c. */
int lease_history_reserve(struct leases *l, uint64_t holder);
void lease_history_release(struct leases *l);
void lease_history_add(struct leases *l, uint64_t holder,
		       const struct lease_end *end);

/* ---- as bytes (lease_code.c) ---- */

/* Appends everything, with a checksum; str_error() reports a failed allocation. */
void leases_encode(const struct leases *l, struct str *out);

/* Reads that back, exactly `len` bytes; each lease has a whole timeout from `now_ms` on.
 * -EBADMSG: invalid bytes; -ENOBUFS, -ENOMEM. */
int leases_decode(struct leases *l, const void *data, size_t len,
		  int64_t now_ms);

#endif
