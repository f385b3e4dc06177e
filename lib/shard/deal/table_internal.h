/* table_internal.h - the representation of a table, for the implementation of table.h.
 *
 * The shards of a worker form a chain of hands, blocks of HAND shards; only the first hand
 * may have fewer.  next[] leads from a shard to the next one in its hand, and from the last
 * one to the hand, which has the worker and its next hand:
 *
 *	worker 7 ─▶ hand 3 ──────────────────▶ hand 0 ──────────────────▶ end
 *	              │ first                    │ first
 *	              ▼                          ▼
 *	             12 ─▶ 5 ─▶ (hand 3)        70 ─▶ 71 ─▶ ... ─▶ (hand 0)
 *
 * So 4 bytes per shard are enough for both queries: the owner of a shard (follow next[] to
 * the end of the hand) and the shards of a worker (follow its hands).  Shards are added and
 * removed at the start of the first hand. */
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
	WORKER_NEW, /* joined since the last deal */
	WORKER_HERE,
	WORKER_CHANGED, /* weight or home changed since the last deal */
	WORKER_LEAVING, /* left since the last deal */
};

struct worker {
	uint64_t key;
	uint32_t weight, home;
};

struct shard_table {
	struct shard_options options;
	uint32_t n_shards;
	uint32_t n_here; /* current workers */
	uint32_t n_slots; /* highest worker number ever used, plus one */
	size_t cap_slots;
	uint64_t total_weight; /* of the current workers */
	uint32_t n_weighted; /* workers that ever had a weight other than 1 */
	uint32_t *next; /* of each shard; SHARD_NONE: no owner at the moment */
	struct hand *hands;
	uint32_t n_hands; /* including free ones */
	uint32_t free_hand; /* the first free one */
	struct worker *workers;
	/* Separate arrays, because each deal scans them. */
	uint8_t *states; /* enum worker_state */
	uint32_t *tops; /* the first hand of each worker, or SHARD_NONE */
	uint32_t *counts; /* its shards */
	uint32_t *wants; /* its number of shards after the current deal */
	uint64_t *loads; /* its bytes; NULL: shards have no bytes */
	uint64_t version, hash;
	uint64_t n_at_home;
	uint64_t largest, total; /* bytes of the largest shard, and of all */
	/* Workers that joined, left or changed since the last deal. */
	uint32_t n_due;
	struct work *work; /* memory of the next deal; NULL: not prepared */
	bool is_dealt; /* shards have owners */
};

/* ---- chains (chain.c) ---- */

/* Gives a shard without an owner to `worker`, or removes one from it; it must have one.
 * Updates counts, loads and the hash. */
void chain_push(struct shard_table *t, uint32_t worker, uint32_t shard);
uint32_t chain_pop(struct shard_table *t, uint32_t worker);
/* Gives `n` shards from `first` on to a worker that has none. */
void chain_fill(struct shard_table *t, uint32_t worker, uint32_t first,
		uint32_t n);
/* Removes all owners; next[] is unchanged. */
void chain_clear(struct shard_table *t);
/* Records the state of `worker` (table.c). */
void table_note_worker(struct shard_table *t, uint32_t worker,
		       enum worker_state state);

/* ---- memory of a deal (table_deal.c) ---- */

/* With homes: workers that need more shards, sorted by home. */
struct takers {
	struct taker {
		uint32_t home, worker;
	} * list;
	size_t n;
	/* Each home once, sorted, and the index of its workers in the list: those before
	 * `at` need no more. */
	uint32_t *homes;
	size_t *at;
	size_t n_homes;
};

void takers_release(struct takers *k);

/* Allocated before anything changes, so that the deal itself cannot fail. */
struct work {
	/* N_shards: their owners by a hash, or the order in which they are given away. */
	uint32_t *shards;
	uint32_t *before; /* n_shards: previous owners, if dealt from scratch */
	struct takers takers; /* with homes */
	struct load_heap least, most; /* with bytes: current workers by load */
};

void work_drop(struct shard_table *t);

/* ---- ways to deal ---- */

/* Sets wants[], the number of shards for each worker, and returns the fewest moves that
 * lead there (quota.c).  quota_hash() takes the counts that the hash produced. */
uint64_t quota_assign(struct shard_table *t);
uint64_t quota_hash(struct shard_table *t);

/* Allocate what each mode needs in addition, without changing the table; -ENOMEM. */
int deal_homes_prepare(struct shard_table *t, struct work *work);
int deal_bytes_prepare(struct shard_table *t, struct work *work);
int deal_hash_prepare(struct shard_table *t, struct work *work);

/* Move shards until counts[] equals wants[]; each returns the number of moved shards. */
int64_t deal_counts(struct shard_table *t);
uint64_t deal_from_nothing(struct shard_table *t);
int64_t deal_homes(struct shard_table *t, struct work *work);
int64_t deal_bytes(struct shard_table *t, struct work *work,
		   struct shard_certificate *c);
int64_t deal_hash(struct shard_table *t, struct work *work);

/* Lower bounds for a balance by bytes, before a deal of a table that was dealt. */
void deal_bytes_minimum(const struct shard_table *t,
			struct shard_certificate *c);

/* The first worker from `w` on that needs more shards; n_slots: none. */
static inline uint32_t who_lacks(const struct shard_table *t, uint32_t w)
{
	while (w < t->n_slots && t->counts[w] >= t->wants[w])
		w++;
	return w;
}

/* One term of the table's hash, which is a sum and so can be updated with each move. */
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
