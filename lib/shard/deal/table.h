/* table.h - which worker owns which shard of a dataset: an explicit table.
 *
 * The shards 0 .. n - 1 are distributed among workers.  Joins and leaves are recorded
 * first.  shard_table_deal() then moves as few shards as is possible for the same balance,
 * and returns a certificate with the numbers.  Kinds of balance:
 *
 *	counts		(the default) most - least <= 1; with weights, every worker has its
 *			share of the shards, rounded up or down
 *	bytes		most - least <= the largest shard, in bytes
 *	homes		counts as above; among these assignments, one with as many shards
 *			at home as possible
 *
 * Instead of being dealt, a table can be filled by a hash, which ignores the previous owners
 * (hash_placement.h).  Balance is then the hash's, and the certificate says how many moves
 * would have led to the same counts.
 *
 * A worker is a number below SHARD_MAX_WORKERS that the caller chooses, best a small one:
 * memory is allocated for all numbers up to the highest.  Its key identifies it in the
 * table's hash, and to the hashes of hash_placement.h.
 *
 * The same calls in the same order lead to the same table in every process.  So it is
 * enough to keep the calls, with version and hash to verify the result.
 *
 * A table takes 4 bytes per shard, 12 per 64 shards and 41 per worker.  Moving a shard costs
 * two random accesses.  After the first deal nothing visits all shards, except the hashed
 * modes; with homes, a worker that gives shards is visited completely.  A table belongs to
 * one thread. */
#ifndef SHARD_DEAL_TABLE_H
#define SHARD_DEAL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shard_table;

enum {
	SHARD_MAX_WORKERS = 1 << 24,
	SHARD_MAX_SHARDS = INT32_MAX, /* of a table */
};

/* No shard, no worker. */
#define SHARD_NONE UINT32_MAX

enum shard_mode {
	SHARD_TABLE, /* dealt */
	SHARD_RENDEZVOUS,
	SHARD_JUMP,
	SHARD_RING,
};

struct shard_options {
	enum shard_mode mode;
	/* n_shards numbers each, or NULL; must live as long as the table, unchanged.  At
	 * most one of the two, and for SHARD_TABLE only. */
	const uint64_t *bytes; /* of each shard; 0 counts as 1 */
	const uint32_t *homes; /* preferred location of each shard */
	/* Workers have weights or homes that a history must store (table_history.h). */
	bool is_described;
};

struct shard_worker {
	uint64_t key; /* identity: placement_key() of its name */
	uint32_t weight; /* 0 counts as 1; not used with bytes or a hash */
	uint32_t home; /* its location */
};

/* The result of one shard_table_deal(), and the bounds for any result. */
struct shard_certificate {
	uint64_t version; /* of the resulting table */
	uint64_t hash;
	uint32_t n_workers, n_shards;
	uint32_t most, least; /* shards of one worker */
	uint64_t moved; /* shards whose owner changed */
	/* The fewest moves to counts as balanced as these; with a hash, to exactly the
	 * counts that it produced; with bytes, a lower bound. */
	uint64_t minimum;
	/* Bytes moved, a lower bound for this balance, the largest and the smallest load.
	 * 0 without bytes. */
	uint64_t moved_bytes, minimum_bytes, most_bytes, least_bytes;
	uint64_t at_home; /* shards whose owner is at their home */
};

/* moved / minimum, in bytes if the table has them; 1 if nothing moved and nothing had
 * to. */
double shard_certificate_ratio(const struct shard_certificate *c);

/* ---- life cycle ---- */

/* Creates a table of `n_shards` without owners.  `options` may be NULL.  -EINVAL: too many
 * shards or bytes (2^62), or conflicting options; -ENOMEM. */
int shard_table_new(uint32_t n_shards, const struct shard_options *options,
		    struct shard_table **ret);
void shard_table_free(struct shard_table *t); /* NULL is allowed */

/* ---- changes ---- */

/* Adds `worker`, from the next deal on.  A worker that left since the last deal and joins
 * again is treated as if it had stayed.  -EEXIST: the number belongs to another worker, or
 * did at the last deal; -EINVAL: the number is too high; -ENOMEM. */
int shard_table_join(struct shard_table *t, uint32_t worker,
		     const struct shard_worker *who);

/* Removes `worker`, from the next deal on.  -ENOENT: it had not joined. */
int shard_table_leave(struct shard_table *t, uint32_t worker);

/* Changes its weight or home.  -ENOENT: no worker with that number and key has joined. */
int shard_table_change(struct shard_table *t, uint32_t worker,
		       const struct shard_worker *who);

/* Is the number unused, now and at the last deal? */
bool shard_table_is_free(const struct shard_table *t, uint32_t worker);

/* Have workers joined, left or changed since the last deal? */
bool shard_table_is_due(const struct shard_table *t);

/* Does the part of the next deal that can fail.  Until another worker joins or leaves, the
 * deal itself cannot fail.  -ENOMEM. */
int shard_table_prepare(struct shard_table *t);

/* Distributes all shards among the current workers; without workers, no shard has an owner.
 * `ret` may be NULL.  Cannot fail for a plain table, nor after shard_table_prepare();
 * otherwise -ENOMEM, with nothing changed. */
int shard_table_deal(struct shard_table *t, struct shard_certificate *ret);

/* The same from scratch: as if all workers had just joined.  Many shards move;
 * table_history.h explains its use. */
int shard_table_deal_anew(struct shard_table *t, struct shard_certificate *ret);

/* ---- queries ---- */

uint32_t shard_table_n_shards(const struct shard_table *t);
uint32_t shard_table_n_workers(const struct shard_table *t);
uint64_t shard_table_version(const struct shard_table *t); /* 0: never dealt */
uint64_t shard_table_hash(const struct shard_table *t);
size_t shard_table_bytes(const struct shard_table *t); /* of its memory */

/* The owner of `shard`; SHARD_NONE: none, or no such shard.  At most 64 steps. */
uint32_t shard_table_owner(const struct shard_table *t, uint32_t shard);

/* The number of shards of `worker`. */
uint32_t shard_table_count(const struct shard_table *t, uint32_t worker);

/* Iterates over the shards of `worker`, in one step each: pass SHARD_NONE first, then the
 * previous result, until the result is SHARD_NONE.  The order is unspecified. */
uint32_t shard_table_next(const struct shard_table *t, uint32_t worker,
			  uint32_t shard);

/* A certificate of the current state, without moves. */
void shard_table_certify(const struct shard_table *t,
			 struct shard_certificate *ret);

#endif
