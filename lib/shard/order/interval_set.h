/* interval_set.h - a set of positions, stored as ranges.
 *
 * The consumed positions of an epoch are nearly always a few ranges, because workers take
 * positions in order and their ranges meet.  So the set costs 16 bytes per range, whatever
 * the number of positions.  Ranges are half-open, [first, end), sorted, and never touch:
 * adding one merges it with its neighbours.  Positions are below 2^63.
 *
 * The encoded form, for logs, checkpoints and the wire, is
 *
 *	"RRS1"		4 bytes
 *	number of ranges
 *	for each range	its distance from the end of the one before (for the
 *			first: from 0), and its length
 *	checksum	8 bytes, little-endian: the CRC-64/NVME of all before
 *
 * with numbers in LEB128 (7 bits per byte, lowest first, the top bit set if more follow), in
 * as few bytes as possible.  A set has exactly one encoding and any other is refused, so
 * encodings can be compared instead of sets.
 *
 * A set belongs to one thread.  It has at most INTERVAL_SET_MAX ranges; an operation that
 * would need more is refused and leaves the set unchanged. */
#ifndef SHARD_ORDER_INTERVAL_SET_H
#define SHARD_ORDER_INTERVAL_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str;

enum {
	INTERVAL_SET_MAX = 1 << 20, /* 16 MiB of memory */
};

/* The end of the highest valid position. */
#define SHARD_POSITION_END ((uint64_t)INT64_MAX)

struct shard_range {
	uint64_t first;
	uint64_t end; /* exclusive */
};

/* All zero is the empty set. */
struct interval_set {
	struct shard_range *items; /* sorted, with gaps between them */
	size_t n;
	size_t cap;
	uint64_t count; /* positions in all of them */
};

void interval_set_release(struct interval_set *set);

/* Removes all positions; keeps the memory. */
void interval_set_clear(struct interval_set *set);

/* Adds the positions from `first` to `end` - 1; none when they are equal.  *ret_new,
 * which may be NULL, is the number of positions that were not in the set.  -EINVAL for an end before
 * the first or above SHARD_POSITION_END, -ENOBUFS for too many ranges, -ENOMEM. */
int interval_set_add(struct interval_set *set, uint64_t first, uint64_t end,
		     uint64_t *ret_new);

/* Removes these positions, whether they are in the set or not.  Errors as above. */
int interval_set_remove(struct interval_set *set, uint64_t first, uint64_t end);

/* Adds all of `other`, in one pass over the ranges that overlap it.  Errors as above. */
int interval_set_union(struct interval_set *set,
		       const struct interval_set *other);

bool interval_set_has(const struct interval_set *set, uint64_t position);

/* The number of positions from `first` to `end` - 1 that are in the set. */
uint64_t interval_set_overlap(const struct interval_set *set, uint64_t first,
			      uint64_t end);

bool interval_set_equal(const struct interval_set *a,
			const struct interval_set *b);

/* Finds the next range of positions in the set, at or after `from`.  False: none. */
bool interval_set_next(const struct interval_set *set, uint64_t from,
		       struct shard_range *ret);

/* The same for positions below `end` that are not in the set. */
bool interval_set_next_gap(const struct interval_set *set, uint64_t from,
			   uint64_t end, struct shard_range *ret);

/* Adds to `ret` the positions from `first` to `end` - 1 that are not in the set. */
int interval_set_gaps(const struct interval_set *set, uint64_t first,
		      uint64_t end, struct interval_set *ret);

/* Adds to `ret`, a third set, the positions of `a` that are in `b`, or that are not in
 * `b`. */
int interval_set_both(const struct interval_set *a,
		      const struct interval_set *b, struct interval_set *ret);
int interval_set_minus(const struct interval_set *a,
		       const struct interval_set *b, struct interval_set *ret);

/* ---- as bytes (interval_set_code.c) ---- */

/* Appends the encoded form; str_error() reports a failed allocation. */
void interval_set_encode(const struct interval_set *set, struct str *out);

/* Reads an encoded form, exactly `len` bytes, into the set, which must be empty.  -EBADMSG:
 * invalid bytes; -ENOBUFS: too many ranges; -ENOMEM.  After an error the set is empty. */
int interval_set_decode(struct interval_set *set, const void *data, size_t len);

/* "0-41, 50, 60-99": the first `max` ranges in readable form, with inclusive ends, and the
 * number of further ranges. */
void interval_set_text(const struct interval_set *set, size_t max,
		       struct str *out);

#endif
