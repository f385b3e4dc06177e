/* table_history.h - a table that outlives its process, without its shards.
 *
 * The same calls lead to the same table (table.h), so what is kept is who came and who went
 * before each deal since the table was dealt from nothing: some bytes a change, however many
 * shards there are.  Version and hash say whether what was dealt again is the same.
 *
 * A deal is told as two lists of numbers, those who went and those who came.  A list is how
 * many runs it has, and its runs, all numbers as varint.h has them:
 *
 *	gap	numbers between the run before and this one; before the first: from 0
 *	more	numbers of the run beyond the first
 *
 * Where workers differ (options.is_described), weight and home of each who came follow its run,
 * and there is a third list, of those who stayed and have others now, with theirs.
 *
 * To deal again takes time, so a history has an end: after SHARD_HISTORY_STEPS the next deal
 * is made anew, from nothing, and the history begins with it.  A history is also over when
 * nobody is left.  A hash has no memory, so the history of its table is the last deal. */
#ifndef SHARD_DEAL_TABLE_HISTORY_H
#define SHARD_DEAL_TABLE_HISTORY_H

#include "base/str.h"
#include "shard/deal/table.h"

enum {
	/* Workers that a deal looks at, and shards that it moves; about 0.2 s of them. */
	SHARD_HISTORY_STEPS = 1 << 24,
	SHARD_HISTORY_MIN_STEPS = 1
				  << 10, /* of a deal: it takes bytes as well */
};

/* Zeroed: of a table that was never dealt. */
struct shard_history {
	struct str deals;
	struct str next; /* the deal that was noted and not made yet */
	uint64_t steps; /* to deal all of them again */
	bool anew; /* the next */
};

void shard_history_release(struct shard_history *h);

/* ---- deals ---- */

/* The next deal has to be made anew.  `n_tables` are read back together, so they share four
 * times what one may take, and each has a little at least. */
bool shard_history_is_over(const struct shard_history *h, uint32_t n_tables);

/* Before a deal: notes who has come and gone.  -ENOMEM, with nothing changed. */
int shard_history_note(struct shard_history *h, const struct shard_table *t,
		       bool anew);
/* After it: the deal is part of the history. */
void shard_history_made(struct shard_history *h, const struct shard_table *t,
			const struct shard_certificate *c);

/* ---- what is kept beside it: who was there at the last deal ---- */

/* Numbers of all who ever were are below this. */
uint32_t shard_table_n_slots(const struct shard_table *t);
bool shard_table_was_here(const struct shard_table *t, uint32_t worker);
uint64_t shard_table_key(const struct shard_table *t, uint32_t worker);
uint32_t shard_table_n_dealt(const struct shard_table *t); /* how many */

/* ---- and back ---- */

/* The key of the last who had this number.  Negative when nobody can have had it. */
typedef int shard_key_fn(void *data, uint32_t worker, uint64_t *ret_key);

/* Deals a fresh table as `deals` says; `h`, zeroed, is its history then.  -EBADMSG when that
 * cannot be, -ENOMEM; the table is of no use then. */
int shard_history_replay(struct shard_history *h, struct shard_table *t,
			 const void *deals, size_t len, shard_key_fn *key,
			 void *data);
/* Behind it: gives the table the number that it had.  -EBADMSG when its hash is not the one
 * it had. */
int shard_history_end(struct shard_table *t, uint64_t version, uint64_t hash);

#endif
