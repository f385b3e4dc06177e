/* table_internal.h - how a table is kept; for the files of table.h alone.
 *
 * The shards of a worker are a chain, in hands of HAND shards; only the first hand may
 * have fewer.  next[] leads from a shard to the one after it in its hand, and from
 * the last to the hand, which knows the worker and the hand after it:
 *
 *	worker 7 ─▶ hand 3 ──────────────────▶ hand 0 ──────────────────▶ end
 *	              │ first                    │ first
 *	              ▼                          ▼
 *	             12 ─▶ 5 ─▶ (hand 3)        70 ─▶ 71 ─▶ ... ─▶ (hand 0)
 *
 * So 4 bytes a shard are enough for both questions: whose a shard is (to the end of the
 * hand), and which ones a worker has (along its hands).  Shards come and go at
 * the beginning of the first hand. */
#ifndef SHARD_DEAL_TABLE_INTERNAL_H
#define SHARD_DEAL_TABLE_INTERNAL_H

#include "shard/deal/load_heap.h"
#include "shard/deal/table.h"

enum { HAND = 64 };

#define HAND_FLAG (UINT32_C(1) << 31) /* in next[]: a hand, not a shard */

struct hand {
	uint32_t first; /* shard */
	uint32_t worker;
	uint32_t next; /* hand of the same worker, or the next free one */
};

enum worker_state {
	WORKER_NONE,
	WORKER_NEW, /* has come since the last deal */
	WORKER_HERE,
	WORKER_CHANGED, /* was here then, and has another weight or home */
	WORKER_LEAVING, /* was here at the last deal, and has gone */
};

struct worker {
	uint64_t key;
	uint32_t weight, home;
};

struct shard_table {
	struct shard_options options;
	uint32_t n_shards;
	uint32_t n_here; /* workers that are there */
	uint32_t n_slots; /* numbers of workers, up to the highest that ever was */
	size_t cap_slots;
	uint64_t total_weight; /* of those who are there */
	uint32_t n_weighted; /* who ever had another weight than 1 */
	uint32_t *next; /* of each shard; SHARD_NONE: between two workers */
	struct hand *hands;
	uint32_t n_hands; /* of which some are free */
	uint32_t free_hand; /* the first of those */
	struct worker *workers;
	/* Apart, because each deal goes through all of them. */
	uint8_t *states; /* enum worker_state */
	uint32_t *tops; /* the first hand of each worker, or SHARD_NONE */
	uint32_t *counts; /* its shards */
	uint32_t *wants; /* what the deal under way gives it */
	uint64_t *loads; /* its bytes; NULL where shards have none */
	uint64_t version, hash;
	uint64_t n_at_home;
	uint64_t largest, total; /* bytes of a shard, and of all */
	uint32_t n_due; /* who have come or gone since the last deal */
	struct work *work; /* of the next deal; NULL: not prepared */
	bool is_dealt; /* shards have owners */
};

/* ---- chains (chain.c) ---- */

/* Gives a shard that nobody has to `worker`, or takes one from it, which must have one.
 * Counts, loads and the hash follow. */
void chain_push(struct shard_table *t, uint32_t worker, uint32_t shard);
uint32_t chain_pop(struct shard_table *t, uint32_t worker);
/* Gives the shards from `first` on, `n` of them, to a worker that has none. */
void chain_fill(struct shard_table *t, uint32_t worker, uint32_t first,
		uint32_t n);
/* Nobody has anything; next[] stays as it is. */
void chain_clear(struct shard_table *t);
/* Notes in what state `worker` is (table.c). */
void table_note_worker(struct shard_table *t, uint32_t worker,
		       enum worker_state state);

/* ---- memory of a deal (table_deal.c) ---- */

/* With homes: who wants more, by home; the workers of one home are next to each other. */
struct takers {
	struct taker {
		uint32_t home, worker;
	} * list;
	size_t n;
	/* Each home once, sorted, and where its workers are in the list: those before
	 * `at` want nothing any more. */
	uint32_t *homes;
	size_t *at;
	size_t n_homes;
};

void takers_release(struct takers *k);

/* Taken before anything changes, so that nothing can fail then. */
struct work {
	uint32_t *shards; /* n_shards: their owners by a hash, or in the order in
			   * which they are given away */
	uint32_t *before; /* n_shards: who had them, where all are dealt anew */
	struct takers takers; /* with homes */
	struct load_heap least, most; /* with bytes: who is there, by load */
};

void work_drop(struct shard_table *t);

/* ---- ways to deal ---- */

/* How many shards each worker shall have, into wants[]; returns the fewest moves that lead
 * there (quota.c).  By a hash they are what that made of it. */
uint64_t quota_assign(struct shard_table *t);
uint64_t quota_hash(struct shard_table *t);

/* Take what each needs beyond that, and change nothing; -ENOMEM. */
int deal_homes_prepare(struct shard_table *t, struct work *work);
int deal_bytes_prepare(struct shard_table *t, struct work *work);
int deal_hash_prepare(struct shard_table *t, struct work *work);

/* Moves until all have what they want; each returns how many moved. */
int64_t deal_counts(struct shard_table *t);
uint64_t deal_from_nothing(struct shard_table *t);
int64_t deal_homes(struct shard_table *t, struct work *work);
int64_t deal_bytes(struct shard_table *t, struct work *work,
		   struct shard_certificate *c);
int64_t deal_hash(struct shard_table *t, struct work *work);

/* What no way to a balance of bytes can be below, before a deal of what was dealt. */
void deal_bytes_minimum(const struct shard_table *t,
			struct shard_certificate *c);

/* The first worker from `w` on that wants more, n_slots if there is none. */
static inline uint32_t who_lacks(const struct shard_table *t, uint32_t w)
{
	while (w < t->n_slots && t->counts[w] >= t->wants[w])
		w++;
	return w;
}

/* One term of the hash, which is their sum: it follows each move. */
static inline uint64_t hash_term(uint32_t shard, uint64_t key)
{
	uint64_t x = key + (shard + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 32)) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ (x >> 32);
}

static inline bool is_there(const struct shard_table *t, uint32_t worker)
{
	uint8_t state = t->states[worker];

	return state == WORKER_NEW || state == WORKER_HERE ||
	       state == WORKER_CHANGED;
}

static inline uint64_t bytes_of(const struct shard_table *t, uint32_t shard)
{
	uint64_t bytes = t->options.bytes ? t->options.bytes[shard] : 0;

	return bytes ? bytes : 1;
}

static inline bool is_at_home(const struct shard_table *t, uint32_t worker,
			      uint32_t shard)
{
	return t->options.homes &&
	       t->options.homes[shard] == t->workers[worker].home;
}

#endif
