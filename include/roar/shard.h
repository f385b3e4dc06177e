/* roar/shard.h - the shards of a dataset: which worker has which, in which order their
 * samples come, and who consumed them.
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
	/* Filled by a hash that does not know who had what; balance is that of chance, and
	 * `minimum` that of the counts which the hash made.  Of rendezvous hashing, of
	 * jump hashing, and of a ring with 150 points for each worker. */
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
	/* With bytes; both minima are bounds then that no way can be below. */
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

/* ---- sets of positions ----
 *
 * What was consumed of an epoch, as ranges [first, end) that are merged where they
 * touch.  Positions are below 2^63 - 1, ranges at most 2^20: more are -ENOBUFS, and the
 * set stays what it was. */
struct roar_ranges;

int roar_ranges_new(struct roar_ranges **ret); /* empty; -ENOMEM */
void roar_ranges_free(struct roar_ranges *set); /* NULL is fine */

/* Adds the positions from `first` to `end` - 1.  *ret_new, which may be NULL, is how many
 * were not in yet.  -EINVAL, -ENOBUFS, -ENOMEM. */
int roar_ranges_add(struct roar_ranges *set, uint64_t first, uint64_t end,
		    uint64_t *ret_new);
int roar_ranges_remove(struct roar_ranges *set, uint64_t first, uint64_t end);

/* Adds all of `other`. */
int roar_ranges_union(struct roar_ranges *set, const struct roar_ranges *other);

/* Adds to `ret` what `set` lacks from `first` to `end` - 1. */
int roar_ranges_gaps(const struct roar_ranges *set, uint64_t first,
		     uint64_t end, struct roar_ranges *ret);

/* How many positions, and how many of those from `first` to `end` - 1. */
uint64_t roar_ranges_count(const struct roar_ranges *set);
uint64_t roar_ranges_overlap(const struct roar_ranges *set, uint64_t first,
			     uint64_t end);

/* How many ranges, and the `i`-th of them, in order.  -ENOENT behind the last. */
size_t roar_ranges_n(const struct roar_ranges *set);
int roar_ranges_get(const struct roar_ranges *set, size_t i,
		    uint64_t *ret_first, uint64_t *ret_end);

/* As bytes with a checksum, in memory that is the caller's to free(); one set has one
 * form.  Back: -EBADMSG for bytes that are none, -ENOBUFS, -ENOMEM. */
int roar_ranges_encode(const struct roar_ranges *set, void **ret,
		       size_t *ret_len);
int roar_ranges_decode(const void *data, size_t len, struct roar_ranges **ret);

/* ---- the order of an epoch ----
 *
 * A permutation of the samples that follows from the dataset's name and seed and from
 * the epoch alone.  Nothing is stored: 10^10 samples begin as fast as ten, and any
 * position is looked up by itself.
 *
 *	struct roar_order_spec spec = { .dataset = "corpus", .seed = 42, .epoch = 3,
 *					.n_samples = 10000000000 };
 *	struct roar_order *o;
 *
 *	r = roar_order_new(&spec, &o);
 *	r = roar_order_fill(o, position, 1024, samples);
 *
 * Once made an order is only read: any thread may use it. */
struct roar_order;

struct roar_order_spec {
	const char *dataset; /* its name, up to 1024 bytes */
	uint64_t seed;
	uint64_t epoch;
	uint64_t n_samples; /* 1 to 2^63 - 1 */
	/* Block shuffle: samples are shuffled among `window` shards at a time, so that
	 * readers within a block of each other have at most 2 * window shards open.
	 * window = 0 shuffles all samples. */
	uint64_t shard_size; /* samples of a shard */
	uint64_t window;
	int sequential; /* not shuffled */
};

/* -EINVAL, of which roar_shard_error() tells more, -ENOMEM. */
int roar_order_new(const struct roar_order_spec *spec, struct roar_order **ret);
void roar_order_free(struct roar_order *o); /* NULL is fine */

/* The samples at `n` positions from `first` on; -ERANGE beyond the last. */
int roar_order_fill(const struct roar_order *o, uint64_t first, size_t n,
		    uint64_t *ret_samples);
/* The position of a sample; -ERANGE. */
int roar_order_position(const struct roar_order *o, uint64_t sample,
			uint64_t *ret);

/* ---- datasets mixed by weight ----
 *
 * One endless stream of several datasets.  Each stretch of as many places as the sum of
 * weights has exactly its weight of each; each dataset goes through its epochs,
 * every sample once in each.  A place is known from its number alone, so the
 * number is all that is needed to resume. */
struct roar_mix;

struct roar_mix_part {
	struct roar_order_spec spec; /* its epoch is the first one */
	uint64_t weight; /* 1 or more; all of them together up to 2^32 */
};

struct roar_mix_place {
	uint32_t part; /* index of the dataset */
	uint64_t epoch; /* of that dataset */
	uint64_t position; /* in that epoch */
	uint64_t sample;
};

/* -EINVAL, of which roar_shard_error() tells more, -ENOMEM. */
int roar_mix_new(const struct roar_mix_part *parts, size_t n, uint64_t seed,
		 struct roar_mix **ret);
void roar_mix_free(struct roar_mix *m); /* NULL is fine */

/* What is at `n` places from `first` on.  -ERANGE beyond 2^63.  One thread at a time. */
int roar_mix_fill(struct roar_mix *m, uint64_t first, size_t n,
		  struct roar_mix_place *ret);

/* ---- which positions a rank takes ----
 *
 * In a step each of `world` ranks takes `batch` positions, one rank behind the other.
 * `before` is what was consumed when the ranks began, by however many of them: every
 * position that is not in it comes exactly once.  The last step may have fewer than
 * world * batch: they are dealt out evenly, left out, or filled up with positions
 * from the beginning. */
struct roar_position;

enum roar_tail {
	ROAR_TAIL_EXACT = 0,
	ROAR_TAIL_DROP = 1,
	ROAR_TAIL_PAD = 2,
};

struct roar_position_spec {
	uint64_t total; /* positions of the epoch */
	uint64_t world; /* up to 2^20 */
	uint64_t rank;
	uint64_t batch; /* up to 2^24 */
	enum roar_tail tail;
};

/* `before` may be NULL and is copied.  -EINVAL, of which roar_shard_error() tells more,
 * -ENOMEM. */
int roar_position_new(const struct roar_position_spec *spec,
		      const struct roar_ranges *before,
		      struct roar_position **ret);
void roar_position_free(struct roar_position *p); /* NULL is fine */

uint64_t roar_position_n_steps(const struct roar_position *p);

/* The rank's positions of a step, up to `batch` of them; the last *ret_n_pad, which may be
 * NULL, only fill up.  -ERANGE for a step that there is not. */
int roar_position_take(const struct roar_position *p, uint64_t step,
		       uint64_t *ret_positions, size_t *ret_n,
		       size_t *ret_n_pad);

/* Adds to `ret` what all ranks together have consumed after that many steps. */
int roar_position_consumed(const struct roar_position *p, uint64_t n_steps,
			   struct roar_ranges *ret);

/* ---- the audit ----
 *
 * Each rank notes what it consumed in a file of its own; `roar shards audit FILE...`
 * proves from all of them that each sample came exactly once, or tells which did
 * not.  A world is the ranks between two changes of membership, its epoch the
 * coordinator's; `base` is what the checkpoint it began from had consumed. */
struct roar_audit;

struct roar_audit_segment {
	const char *dataset;
	uint64_t seed;
	uint64_t epoch;
	uint64_t total; /* positions of the epoch */
	uint64_t world_epoch;
	uint32_t rank;
	uint32_t world;
	const struct roar_ranges *base; /* NULL: nothing */
};

/* Opens or makes the file; what a crash cut off goes.  -EBUSY when another process writes
 * it, -EBADMSG when it is no audit file or damaged; roar_shard_error() tells more. */
int roar_audit_open(const char *path, struct roar_audit **ret);

/* Begins a segment; its number is for the calls below.  -EINVAL, -ENOMEM, or the error of
 * writing. */
int roar_audit_begin(struct roar_audit *a,
		     const struct roar_audit_segment *segment,
		     uint32_t *ret_index);
int roar_audit_consumed(struct roar_audit *a, uint32_t index, uint64_t first,
			uint64_t end);
/* Left out on purpose; and once more on purpose, to fill up the last step. */
int roar_audit_dropped(struct roar_audit *a, uint32_t index,
		       const struct roar_ranges *positions);
int roar_audit_padded(struct roar_audit *a, uint32_t index,
		      const struct roar_ranges *positions);

/* Everything so far is on the disk when this returns: before a checkpoint that counts it
 * is committed. */
int roar_audit_sync(struct roar_audit *a);

/* The same, and frees it.  NULL is fine. */
int roar_audit_close(struct roar_audit *a);

/* A sentence about the last failure of the calling thread in one of the functions that
 * say so. */
const char *roar_shard_error(void);

#ifdef __cplusplus
}
#endif
#endif
