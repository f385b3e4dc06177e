/* roar/shard.h - the shards of a dataset: which worker has which.
 *
 * For C and C++; link with -lroar.  Functions that can fail return 0 or a negative
 * errno.  An object belongs to one thread at a time. */
#ifndef ROAR_SHARD_H
#define ROAR_SHARD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- who has which shard ----
 *
 * A table deals the shards 0 .. n - 1 to workers.  Who joins or leaves is noted, and
 * roar_shard_table_deal() then moves as few shards as any way to the same balance
 * would; the certificate says so in numbers.
 *
 *	struct roar_shard_table *t;
 *	struct roar_shard_certificate c;
 *
 *	r = roar_shard_table_new(10000, NULL, &t);
 *	for (uint32_t w = 0; r == 0 && w < 100; w++)
 *		r = roar_shard_table_join(t, w, &workers[w]);
 *	r = roar_shard_table_deal(t, &c);
 *	...
 *	r = roar_shard_table_leave(t, 7);
 *	r = roar_shard_table_deal(t, &c);	c.moved == c.minimum
 *	...
 *	roar_shard_table_free(t);
 *
 * The same calls in the same order lead to the same table in every process; version and
 * hash tell whether two are the same. */
struct roar_shard_table;

#define ROAR_SHARD_NONE UINT32_MAX /* no shard, no worker */

enum roar_shard_mode {
	/* Dealt: most - least <= 1.  With weights, everybody has its share rounded up or
	 * down; with bytes, most - least <= the largest shard. */
	ROAR_SHARD_TABLE = 0,
	/* Filled by a hash that does not know who had what; balance and moves are
	 * those of chance.  Of rendezvous hashing, of jump hashing, and of a ring with 150
	 * points for each worker. */
	ROAR_SHARD_RENDEZVOUS = 1,
	ROAR_SHARD_JUMP = 2,
	ROAR_SHARD_RING = 3,
};

struct roar_shard_options {
	enum roar_shard_mode mode;
	/* A number for each shard, or NULL; they must live as long as the table.  For
	 * ROAR_SHARD_TABLE only, and not both. */
	const uint64_t *bytes; /* balance these in place of counts */
	const uint32_t *homes; /* where the shard is at home, and rather goes */
};

struct roar_shard_worker {
	uint64_t key; /* who it is: roar_shard_key() of its name */
	uint32_t weight; /* 0 counts as 1 */
	uint32_t home; /* where it is */
};

struct roar_shard_certificate {
	uint64_t version; /* of the table; 1 after the first deal */
	uint64_t hash; /* of all owners */
	uint32_t n_workers, n_shards;
	uint32_t most, least; /* shards that a worker has */
	uint64_t moved; /* shards that had an owner and have another */
	uint64_t minimum; /* the fewest that lead to such a balance */
	/* With bytes; minimum_bytes is a bound that no way can be below. */
	uint64_t moved_bytes, minimum_bytes, most_bytes, least_bytes;
	uint64_t at_home; /* with homes: shards that are there */
};

/* A table of `n_shards`, up to 2^31 - 1, that nobody has yet.  `options` may be NULL.
 * -EINVAL, -ENOMEM. */
int roar_shard_table_new(uint32_t n_shards,
			 const struct roar_shard_options *options,
			 struct roar_shard_table **ret);
void roar_shard_table_free(struct roar_shard_table *t); /* NULL is fine */

/* Notes that `worker` is there from the next deal on.  It is a number below 2^24, best a
 * small one.  -EEXIST when it is another's, or was until the next deal; -EINVAL,
 * -ENOMEM. */
int roar_shard_table_join(struct roar_shard_table *t, uint32_t worker,
			  const struct roar_shard_worker *who);
/* And that it is not.  -ENOENT. */
int roar_shard_table_leave(struct roar_shard_table *t, uint32_t worker);

/* Moves shards so that those who are there have them all.  `ret` may be NULL.  -ENOMEM, with
 * nothing changed. */
int roar_shard_table_deal(struct roar_shard_table *t,
			  struct roar_shard_certificate *ret);

/* Who has `shard`; ROAR_SHARD_NONE: nobody. */
uint32_t roar_shard_table_owner(const struct roar_shard_table *t,
				uint32_t shard);
/* How many `worker` has. */
uint32_t roar_shard_table_count(const struct roar_shard_table *t,
				uint32_t worker);
/* Its shards, one after the other: begin with ROAR_SHARD_NONE, then give the one before,
 * until it is ROAR_SHARD_NONE. */
uint32_t roar_shard_table_next(const struct roar_shard_table *t,
			       uint32_t worker, uint32_t shard);
uint64_t roar_shard_table_version(const struct roar_shard_table *t);
uint64_t roar_shard_table_hash(const struct roar_shard_table *t);
/* Bytes of memory that it has. */
size_t roar_shard_table_bytes(const struct roar_shard_table *t);

/* A key from a name: the same everywhere, for ever. */
uint64_t roar_shard_key(const char *name);

/* Who has `shard` by a hash alone, without a table: the index in `keys`, which has `n`.
 * Whoever has the same keys in the same order finds the same.  -EINVAL without
 * workers or for ROAR_SHARD_TABLE, -ENOMEM. */
int roar_shard_place(enum roar_shard_mode mode, uint32_t shard,
		     const uint64_t *keys, uint32_t n, uint32_t *ret);

#ifdef __cplusplus
}
#endif
#endif
