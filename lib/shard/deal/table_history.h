/* table_history.h - the compact history from which a table can be rebuilt.
 *
 * The same calls lead to the same table (table.h).  So the history only has the workers
 * that joined and left before each deal since the table was dealt from scratch: a few bytes
 * per change, however many shards there are.  Version and hash verify the rebuilt table.
 *
 * A deal is encoded as two lists of worker numbers, those that left and those that joined.
 * A list is the number of its runs and the runs, with numbers encoded as in varint.h:
 *
 *	gap	numbers between the run before and this one; before the first: from 0
 *	more	numbers of the run beyond the first
 *
 * If workers differ (options.is_described), each run is followed by weight and home of its
 * workers that joined.  A third list has the workers whose weight or home changed, with
 * their new values.
 *
 * Replaying takes time, so a history is bounded: after SHARD_HISTORY_STEPS the next deal is
 * made from scratch, and a new history starts with it.  A history also ends when no worker
 * is left.  A hash ignores previous owners, so the history of its table is only the last
 * deal. */
#ifndef SHARD_DEAL_TABLE_HISTORY_H
#define SHARD_DEAL_TABLE_HISTORY_H

#include "base/str.h"
#include "shard/deal/table.h"

enum {
	/* Workers that deals visit and shards that they move; about 0.2 s. */
	SHARD_HISTORY_STEPS = 1 << 24,
	SHARD_HISTORY_MIN_STEPS = 1
				  /* Least steps counted per deal, for its bytes. */
				  << 10,
};

/* Zeroed: of a table that was never dealt. */
struct shard_history {
	struct str deals;
	struct str next; /* the recorded deal that was not made yet */
	uint64_t steps; /* needed to replay all deals */
	bool anew; /* the next deal is from scratch */
};

void shard_history_release(struct shard_history *h);

/* ---- deals ---- */

/* Must the next deal be made from scratch?  `n_tables` are replayed together, so they share
 * four times the limit of one table; each has a small minimum. */
bool shard_history_is_over(const struct shard_history *h, uint32_t n_tables);

/* Before a deal: records which workers joined and left.  -ENOMEM: nothing has changed. */
int shard_history_note(struct shard_history *h, const struct shard_table *t,
		       bool anew);
/* After the deal: makes it part of the history. */
void shard_history_made(struct shard_history *h, const struct shard_table *t,
			const struct shard_certificate *c);

/* ---- stored beside it: the workers at the last deal ---- */

/* All worker numbers that were ever used are below this. */
uint32_t shard_table_n_slots(const struct shard_table *t);
bool shard_table_was_here(const struct shard_table *t, uint32_t worker);
uint64_t shard_table_key(const struct shard_table *t, uint32_t worker);
uint32_t shard_table_n_dealt(const struct shard_table *t); /* their number */

/* ---- replay ---- */

/* The key of the last worker with this number.  Negative: no worker can have had it. */
typedef int shard_key_fn(void *data, uint32_t worker, uint64_t *ret_key);

/* Replays `deals` on a new table; `h`, zeroed, becomes its history.  -EBADMSG: invalid;
 * -ENOMEM.  After an error the table must not be used. */
int shard_history_replay(struct shard_history *h, struct shard_table *t,
			 const void *deals, size_t len, shard_key_fn *key,
			 void *data);
/* After that: sets the table's version.  -EBADMSG: the table's hash differs from `hash`. */
int shard_history_end(struct shard_table *t, uint64_t version, uint64_t hash);

#endif
