/* interval_set.h - a set of positions, kept as the ranges it is made of.
 *
 * What an epoch has consumed is nearly always a few ranges: workers take
 * positions in order, and what two of them took meets.  So the set costs 16 bytes
 * a range, whatever the number of positions.  Ranges are half-open, [first, end),
 * in order, and never touch: adding one merges it with its neighbours.  Positions
 * are below 2^63.
 *
 * The encoded form, for logs, checkpoints and the wire, is
 *
 *	"RRS1"		4 bytes
 *	number of ranges
 *	for each range	its distance from the end of the one before (for the
 *			first: from 0), and its length
 *	checksum	8 bytes, little-endian: the CRC-64/NVME of all before
 *
 * with numbers in LEB128 (7 bits a byte, lowest first, the top bit says that more
 * follow), in as few bytes as they need.  One set has one form: whatever else is
 * refused, so forms can be compared for sets.
 *
 * A set belongs to one thread.  It has at most SHARD_RANGES_MAX ranges; what would
 * need more is refused and the set stays what it was. */
#ifndef SHARD_ORDER_INTERVAL_SET_H
#define SHARD_ORDER_INTERVAL_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str;

enum {
	SHARD_RANGES_MAX = 1 << 20, /* 16 MiB of memory */
};

/* The end of the last position there can be. */
#define SHARD_POSITION_END ((uint64_t)INT64_MAX)

struct shard_range {
	uint64_t first;
	uint64_t end; /* one behind the last */
};

/* All zero is the empty set. */
struct shard_ranges {
	struct shard_range *items; /* in order, apart from each other */
	size_t n;
	size_t cap;
	uint64_t count; /* positions in all of them */
};

void shard_ranges_release(struct shard_ranges *set);

/* Forgets all positions, keeps the memory. */
void shard_ranges_clear(struct shard_ranges *set);

/* Adds the positions from `first` to `end` - 1; none when they are equal.  *ret_new,
 * which may be NULL, is how many of them were not in yet.  -EINVAL for an end before
 * the first or above SHARD_POSITION_END, -ENOBUFS for too many ranges, -ENOMEM. */
int shard_ranges_add(struct shard_ranges *set, uint64_t first, uint64_t end,
		     uint64_t *ret_new);

/* Takes these positions out, whether they are in or not.  Errors as above. */
int shard_ranges_remove(struct shard_ranges *set, uint64_t first, uint64_t end);

/* Adds all of `other`, in one go through the ranges that lie where it lies.  Errors as
 * above. */
int shard_ranges_union(struct shard_ranges *set,
		       const struct shard_ranges *other);

bool shard_ranges_has(const struct shard_ranges *set, uint64_t position);

/* How many of the positions from `first` to `end` - 1 are in. */
uint64_t shard_ranges_overlap(const struct shard_ranges *set, uint64_t first,
			      uint64_t end);

bool shard_ranges_equal(const struct shard_ranges *a,
			const struct shard_ranges *b);

/* Finds the next range, at or behind `from`, of positions that are in.  False when there
 * is none. */
bool shard_ranges_next(const struct shard_ranges *set, uint64_t from,
		       struct shard_range *ret);

/* The same for positions below `end` that are not in. */
bool shard_ranges_next_gap(const struct shard_ranges *set, uint64_t from,
			   uint64_t end, struct shard_range *ret);

/* Adds to `ret` what is missing from `first` to `end` - 1. */
int shard_ranges_gaps(const struct shard_ranges *set, uint64_t first,
		      uint64_t end, struct shard_ranges *ret);

/* Adds to `ret`, which is neither, the positions of `a` that are also, or are not, in
 * `b`. */
int shard_ranges_both(const struct shard_ranges *a,
		      const struct shard_ranges *b, struct shard_ranges *ret);
int shard_ranges_minus(const struct shard_ranges *a,
		       const struct shard_ranges *b, struct shard_ranges *ret);

/* ---- as bytes (interval_set_code.c) ---- */

/* Appends the encoded form; str_error() tells whether there was memory. */
void shard_ranges_encode(const struct shard_ranges *set, struct str *out);

/* Reads one form, all of `len` bytes, into the set, which must be empty.  -EBADMSG
 * for bytes that are none, -ENOBUFS for too many ranges, -ENOMEM; the set is
 * empty then. */
int shard_ranges_decode(struct shard_ranges *set, const void *data, size_t len);

/* "0-41, 50, 60-99": the first `max` ranges for people, with the last position of
 * each, and how many more there are. */
void shard_ranges_text(const struct shard_ranges *set, size_t max,
		       struct str *out);

#endif
