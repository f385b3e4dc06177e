/* table.h - which worker owns which shard of a dataset: an explicit table.
 *
 * The shards 0 .. n - 1 are dealt to workers.  Joins and leaves are noted first;
 * shard_table_deal() then moves shards, as few as any way to the same balance would, and
 * returns a certificate with the numbers.  Kinds of balance:
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
	/* n_shards numbers each, or NULL; they must live as long as the table, unchanged.
	 * For SHARD_TABLE only, and not both. */
	const uint64_t *bytes; /* of each shard; 0 counts as 1 */
	const uint32_t *homes; /* of each shard, where it is at home */
	/* Workers have weights or homes that a history must tell (table_history.h). */
	bool is_described;
};

struct shard_worker {
	uint64_t key; /* who it is; placement_key() of its name */
	uint32_t weight; /* 0 counts as 1; not used with bytes or a hash */
	uint32_t home; /* where it is */
};

/* What one shard_table_deal() did, and what it could not have done better. */
struct shard_certificate {
	uint64_t version; /* of the table it led to */
	uint64_t hash;
	uint32_t n_workers, n_shards;
	uint32_t most, least; /* shards that a worker has */
	uint64_t moved; /* shards that had an owner and have another */
	/* The fewest moves that lead to counts as balanced as these; by a hash, to the
	 * very counts that it made; with bytes, a number that no way can be below. */
	uint64_t minimum;
	/* Bytes that moved, the largest and smallest load, and a number that no
	 * table with this balance could be below.  0 without bytes. */
	uint64_t moved_bytes, minimum_bytes, most_bytes, least_bytes;
	uint64_t at_home; /* shards whose owner is where they are at home */
};

/* moved / minimum, of bytes where the table has them; 1 when nothing moved and nothing
 * had to. */
double shard_certificate_ratio(const struct shard_certificate *c);

/* ---- life cycle ---- */

/* A table of `n_shards` that nobody has.  `options` may be NULL.  -EINVAL for too many
 * shards or bytes (2^62) or options that exclude each other, -ENOMEM. */
int shard_table_new(uint32_t n_shards, const struct shard_options *options,
		    struct shard_table **ret);
void shard_table_free(struct shard_table *t); /* NULL is fine */

/* ---- changes ---- */

/* Notes that `worker` is there from the next deal on.  Who left since the last deal and
 * comes back is as if it had stayed.  -EEXIST when the number is another's, or still was
 * at the last deal; -EINVAL for a number that is too high; -ENOMEM. */
int shard_table_join(struct shard_table *t, uint32_t worker,
		     const struct shard_worker *who);

/* Notes that it is not.  -ENOENT when it never was. */
int shard_table_leave(struct shard_table *t, uint32_t worker);

/* Notes that it has another weight or home.  -ENOENT when it is not there under that
 * key. */
int shard_table_change(struct shard_table *t, uint32_t worker,
		       const struct shard_worker *who);

/* Nobody has that number, nor had at the last deal. */
bool shard_table_is_free(const struct shard_table *t, uint32_t worker);

/* Something was noted that the table does not show yet. */
bool shard_table_is_due(const struct shard_table *t);

/* Does all of the next deal that can fail; until somebody else comes or goes it cannot
 * fail any more.  -ENOMEM. */
int shard_table_prepare(struct shard_table *t);

/* Moves shards, so that exactly those who are there have them all; without anybody,
 * nobody has one.  `ret` may be NULL.  Cannot fail for a plain table, nor for one that is
 * prepared; else -ENOMEM, with nothing changed. */
int shard_table_deal(struct shard_table *t, struct shard_certificate *ret);

/* The same from nothing: as if all who are there had come just now.  Many shards move; what
 * it is good for, table_history.h says. */
int shard_table_deal_anew(struct shard_table *t, struct shard_certificate *ret);

/* ---- looking ---- */

uint32_t shard_table_n_shards(const struct shard_table *t);
uint32_t shard_table_n_workers(const struct shard_table *t);
uint64_t shard_table_version(const struct shard_table *t); /* 0: never dealt */
uint64_t shard_table_hash(const struct shard_table *t);
size_t shard_table_bytes(const struct shard_table *t); /* of memory, its own */

/* Who has `shard`; SHARD_NONE when nobody, or there is no such shard.  At most 64
 * steps. */
uint32_t shard_table_owner(const struct shard_table *t, uint32_t shard);

/* How many `worker` has. */
uint32_t shard_table_count(const struct shard_table *t, uint32_t worker);

/* The shards of `worker`, one after the other, each in one step: begin with SHARD_NONE,
 * then the one before; SHARD_NONE is the end.  The order is the table's own. */
uint32_t shard_table_next(const struct shard_table *t, uint32_t worker,
			  uint32_t shard);

/* How things are now, without moves. */
void shard_table_certify(const struct shard_table *t,
			 struct shard_certificate *ret);

#endif
