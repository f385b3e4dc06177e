/* roar/shard.h - the shards of a dataset: their owners, the order of their samples, and
 * proof of what was consumed.
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

/* ---- owners of shards ----
 *
 * A table distributes the shards 0 .. n - 1 among workers.  Workers join and leave;
 * roar_shard_table_deal() then moves as few shards as is possible for that balance, and
 * proves it by the numbers in the certificate.
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
 * The same calls in the same order lead to the same table in every process.  Compare
 * version and hash to find out whether two tables are equal. */
struct roar_shard_table;

#define ROAR_SHARD_NONE UINT32_MAX /* no shard, no worker */

enum roar_shard_mode {
	/* Balanced: most - least <= 1.  With weights, each worker has its share, rounded up
	 * or down; with bytes, most - least <= the largest shard. */
	ROAR_SHARD_TABLE = 0,
	/* Computed by a hash, independent of previous owners: rendezvous hashing, jump
	 * hashing, or a ring with 150 points per worker.  The balance is random, and
	 * `minimum` is the minimum for the counts that the hash produced. */
	ROAR_SHARD_RENDEZVOUS = 1,
	ROAR_SHARD_JUMP = 2,
	ROAR_SHARD_RING = 3,
};

struct roar_shard_options {
	enum roar_shard_mode mode;
	/* One number per shard, or NULL; must live as long as the table.  At most one of
	 * the two, and for ROAR_SHARD_TABLE only. */
	const uint64_t *bytes; /* balance these instead of counts */
	const uint32_t *homes; /* preferred location of the shard */
};

struct roar_shard_worker {
	uint64_t key; /* identity: roar_shard_key() of its name */
	uint32_t weight; /* 0 counts as 1 */
	uint32_t home; /* its location */
};

struct roar_shard_certificate {
	uint64_t version; /* of the table; 1 after the first deal */
	uint64_t hash; /* of all owners */
	uint32_t n_workers, n_shards;
	uint32_t most, least; /* shards of one worker */
	uint64_t moved; /* shards whose owner changed */
	uint64_t minimum; /* fewest moves for this balance */
	/* With bytes.  Both minima are lower bounds then. */
	uint64_t moved_bytes, minimum_bytes, most_bytes, least_bytes;
	uint64_t at_home; /* with homes: shards at their home */
};

/* Creates a table of `n_shards`, up to 2^31 - 1, without owners.  `options` may be NULL.
 * -EINVAL, -ENOMEM. */
int roar_shard_table_new(uint32_t n_shards,
			 const struct roar_shard_options *options,
			 struct roar_shard_table **ret);
void roar_shard_table_free(struct roar_shard_table *t); /* NULL is allowed */

/* Adds `worker`, from the next deal on.  It is a number below 2^24, preferably a small one.
 * -EEXIST: the number is in use, or its previous worker has left since the last deal;
 * -EINVAL, -ENOMEM. */
int roar_shard_table_join(struct roar_shard_table *t, uint32_t worker,
			  const struct roar_shard_worker *who);
/* Removes `worker`, from the next deal on.  -ENOENT. */
int roar_shard_table_leave(struct roar_shard_table *t, uint32_t worker);

/* Distributes all shards among the current workers.  `ret` may be NULL.  -ENOMEM: nothing
 * has changed. */
int roar_shard_table_deal(struct roar_shard_table *t,
			  struct roar_shard_certificate *ret);

/* The owner of `shard`, or ROAR_SHARD_NONE. */
uint32_t roar_shard_table_owner(const struct roar_shard_table *t,
				uint32_t shard);
/* The number of shards of `worker`. */
uint32_t roar_shard_table_count(const struct roar_shard_table *t,
				uint32_t worker);
/* Iterates over the shards of `worker`: pass ROAR_SHARD_NONE first, then the previous
 * result, until the result is ROAR_SHARD_NONE. */
uint32_t roar_shard_table_next(const struct roar_shard_table *t,
			       uint32_t worker, uint32_t shard);
uint64_t roar_shard_table_version(const struct roar_shard_table *t);
uint64_t roar_shard_table_hash(const struct roar_shard_table *t);
/* Bytes of memory that the table uses. */
size_t roar_shard_table_bytes(const struct roar_shard_table *t);

/* A key from a name.  It is the same on all machines and in all versions. */
uint64_t roar_shard_key(const char *name);

/* The owner of `shard` by a hash alone, without a table, as an index into the `n` keys.
 * The same keys in the same order give the same result.  -EINVAL: `n` is 0, or the mode is
 * ROAR_SHARD_TABLE; -ENOMEM. */
int roar_shard_place(enum roar_shard_mode mode, uint32_t shard,
		     const uint64_t *keys, uint32_t n, uint32_t *ret);

/* ---- sets of positions ----
 *
 * The consumed positions of an epoch, as ranges [first, end); adjacent ranges are merged.
 * Positions are below 2^63 - 1.  A set has at most 2^20 ranges: an operation that needs
 * more returns -ENOBUFS and leaves the set unchanged. */
struct roar_ranges;

int roar_ranges_new(struct roar_ranges **ret); /* empty; -ENOMEM */
void roar_ranges_free(struct roar_ranges *set); /* NULL is allowed */

/* Adds the positions from `first` to `end` - 1.  *ret_new, which may be NULL, is the number
 * of positions that were not in the set before.  -EINVAL, -ENOBUFS, -ENOMEM. */
int roar_ranges_add(struct roar_ranges *set, uint64_t first, uint64_t end,
		    uint64_t *ret_new);
int roar_ranges_remove(struct roar_ranges *set, uint64_t first, uint64_t end);

/* Adds all of `other`. */
int roar_ranges_union(struct roar_ranges *set, const struct roar_ranges *other);

/* Adds to `ret` the positions from `first` to `end` - 1 that `set` lacks. */
int roar_ranges_gaps(const struct roar_ranges *set, uint64_t first,
		     uint64_t end, struct roar_ranges *ret);

/* The number of positions in the set, and of those from `first` to `end` - 1. */
uint64_t roar_ranges_count(const struct roar_ranges *set);
uint64_t roar_ranges_overlap(const struct roar_ranges *set, uint64_t first,
			     uint64_t end);

/* The number of ranges, and the `i`-th range in ascending order.  -ENOENT: `i` is too
 * large. */
size_t roar_ranges_n(const struct roar_ranges *set);
int roar_ranges_get(const struct roar_ranges *set, size_t i,
		    uint64_t *ret_first, uint64_t *ret_end);

/* Serializes the set with a checksum, in malloc()ed memory.  Equal sets have equal bytes.
 * roar_ranges_decode() returns -EBADMSG for invalid bytes, -ENOBUFS or -ENOMEM. */
int roar_ranges_encode(const struct roar_ranges *set, void **ret,
		       size_t *ret_len);
int roar_ranges_decode(const void *data, size_t len, struct roar_ranges **ret);

/* ---- the order of an epoch ----
 *
 * A permutation of the samples, computed from the dataset's name, its seed and the epoch.
 * Nothing is stored: 10^10 samples start as fast as ten, and any position can be looked up
 * directly.
 *
 *	struct roar_order_spec spec = { .dataset = "corpus", .seed = 42, .epoch = 3,
 *					.n_samples = 10000000000 };
 *	struct roar_order *o;
 *
 *	r = roar_order_new(&spec, &o);
 *	r = roar_order_fill(o, position, 1024, samples);
 *
 * An order is immutable: any thread may use it. */
struct roar_order;

struct roar_order_spec {
	const char *dataset; /* its name, up to 1024 bytes */
	uint64_t seed;
	uint64_t epoch;
	uint64_t n_samples; /* 1 to 2^63 - 1 */
	/* Block shuffle: samples are shuffled within blocks of `window` shards.  Readers
	 * that are at most one block apart have at most 2 * window shards open.  window = 0
	 * shuffles all samples. */
	uint64_t shard_size; /* samples of a shard */
	uint64_t window;
	int sequential; /* not shuffled */
};

/* -EINVAL: see roar_shard_error(); -ENOMEM. */
int roar_order_new(const struct roar_order_spec *spec, struct roar_order **ret);
void roar_order_free(struct roar_order *o); /* NULL is allowed */

/* The samples at `n` positions from `first` on; -ERANGE beyond the last. */
int roar_order_fill(const struct roar_order *o, uint64_t first, size_t n,
		    uint64_t *ret_samples);
/* The position of a sample; -ERANGE. */
int roar_order_position(const struct roar_order *o, uint64_t sample,
			uint64_t *ret);

/* ---- datasets mixed by weight ----
 *
 * One endless stream of several datasets.  Each run of W places, W being the sum of the
 * weights, has exactly as many samples of each dataset as its weight.  Each dataset goes
 * through its epochs, with every sample once per epoch.  A place is computed from its
 * number, so the number is all that is needed to resume. */
struct roar_mix;

struct roar_mix_part {
	struct roar_order_spec spec; /* its epoch is the first one */
	uint64_t weight; /* 1 or more; their sum is at most 2^32 */
};

struct roar_mix_place {
	uint32_t part; /* index of the dataset */
	uint64_t epoch; /* of that dataset */
	uint64_t position; /* in that epoch */
	uint64_t sample;
};

/* -EINVAL: see roar_shard_error(); -ENOMEM. */
int roar_mix_new(const struct roar_mix_part *parts, size_t n, uint64_t seed,
		 struct roar_mix **ret);
void roar_mix_free(struct roar_mix *m); /* NULL is allowed */

/* The samples at `n` places from `first` on.  -ERANGE: beyond 2^63.  One thread at a
 * time. */
int roar_mix_fill(struct roar_mix *m, uint64_t first, size_t n,
		  struct roar_mix_place *ret);

/* ---- which positions a rank takes ----
 *
 * In a step each of `world` ranks takes `batch` positions, in the order of the ranks.
 * `before` is the set of positions consumed before, by any number of ranks: every other
 * position comes exactly once.  The last step may have fewer than world * batch positions:
 * they are distributed evenly, dropped, or padded with positions from the start. */
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

/* `before` may be NULL and is copied.  -EINVAL: see roar_shard_error();
 * -ENOMEM. */
int roar_position_new(const struct roar_position_spec *spec,
		      const struct roar_ranges *before,
		      struct roar_position **ret);
void roar_position_free(struct roar_position *p); /* NULL is allowed */

uint64_t roar_position_n_steps(const struct roar_position *p);

/* The rank's positions of a step, up to `batch` of them.  The last *ret_n_pad of them (it
 * may be NULL) are padding.  -ERANGE: no such step. */
int roar_position_take(const struct roar_position *p, uint64_t step,
		       uint64_t *ret_positions, size_t *ret_n,
		       size_t *ret_n_pad);

/* Adds to `ret` the positions that all ranks together have consumed after `n_steps`
 * steps. */
int roar_position_consumed(const struct roar_position *p, uint64_t n_steps,
			   struct roar_ranges *ret);

/* ---- the audit ----
 *
 * Each rank writes what it consumed to a file of its own.  `roar shards audit FILE...`
 * proves from all files that each sample was consumed exactly once, or lists those that
 * were not.  A world is the set of ranks between two changes of membership; the coordinator
 * numbers it with its epoch.  `base` is the set of positions that the checkpoint it started
 * from had consumed. */
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

/* Opens or creates the file; a record that a crash cut off is removed.  -EBUSY: another
 * process writes the file; -EBADMSG: not an audit file, or damaged; see
 * roar_shard_error(). */
int roar_audit_open(const char *path, struct roar_audit **ret);

/* Starts a segment; *ret_index is its number for the calls below.  -EINVAL, -ENOMEM, or the
 * error of writing. */
int roar_audit_begin(struct roar_audit *a,
		     const struct roar_audit_segment *segment,
		     uint32_t *ret_index);
int roar_audit_consumed(struct roar_audit *a, uint32_t index, uint64_t first,
			uint64_t end);
/* Positions left out on purpose, and positions repeated on purpose as padding of the last
 * step. */
int roar_audit_dropped(struct roar_audit *a, uint32_t index,
		       const struct roar_ranges *positions);
int roar_audit_padded(struct roar_audit *a, uint32_t index,
		      const struct roar_ranges *positions);

/* Makes everything so far durable.  Call it before committing a checkpoint that counts
 * these positions. */
int roar_audit_sync(struct roar_audit *a);

/* The same, and frees the audit.  NULL is allowed. */
int roar_audit_close(struct roar_audit *a);

/* The error message for the last failure of the calling thread in a function that refers to
 * it. */
const char *roar_shard_error(void);

#ifdef __cplusplus
}
#endif
#endif
