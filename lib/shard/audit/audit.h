/* audit.h - which positions each rank consumed, on disk, for a later proof.
 *
 * Each rank writes its own file, without a server.  Together the files of all ranks prove
 * that each sample of an epoch was consumed exactly once, over any number of restarts with
 * any number of ranks (audit_check.h), or name the samples and ranks where that is not so.
 *
 * A segment is the part of an epoch that one world (the ranks between two changes of
 * membership) goes through.  It starts from a checkpoint, whose consumed positions are its
 * base.  What an earlier world had consumed beyond the base was lost in a crash and is
 * consumed again.  So a position may be in the files twice and in the model once; the bases
 * tell these cases apart.
 *
 * A file is "ROARAUD1" and records, integers little-endian:
 *
 *	0	4	n, bytes of the body, up to 2^25
 *	4	4	kind
 *	8	n	body
 *	8+n	8	CRC-64/NVME of all heads and bodies of the file up to here
 *
 * so that no record can be changed, left out or moved.  Bodies:
 *
 *	kind 1, a segment begins; segments of a file are numbered from 0
 *		0	8	world epoch, greater for a later world
 *		8	4	rank
 *		12	4	ranks of the world
 *		16	8	seed of the dataset
 *		24	8	epoch
 *		32	8	positions of the epoch
 *		40	4	m, bytes of the dataset's name
 *		44	m	the name
 *		44+m		the base, a set of positions as in interval_set.h
 *	kind 2, positions were consumed; kind 3, positions are left out on purpose;
 *	kind 4, positions were repeated on purpose, as padding of the last step
 *		0	4	number of the segment
 *		4		the positions, as in interval_set.h
 *
 * A file that ends within a record, or in zeros, was truncated by a crash: its whole
 * records count, and a writer that opens it again continues after the last of them.
 *
 * A writer belongs to one thread. */
#ifndef SHARD_AUDIT_AUDIT_H
#define SHARD_AUDIT_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "shard/order/interval_set.h"

struct audit;
struct roar_error;

enum {
	AUDIT_NAME_MAX = 1024, /* bytes of a dataset's name */
	AUDIT_BODY_MAX = 1 << 25, /* bytes: a set with the most ranges */
	AUDIT_PENDING_MAX = 4096, /* ranges in memory before they are written */
};

struct audit_segment {
	const char *dataset;
	uint64_t seed;
	uint64_t epoch;
	uint64_t total; /* positions of the epoch */
	uint64_t world_epoch;
	uint32_t rank;
	uint32_t world;
	const struct interval_set *base; /* NULL: empty */
};

/* Opens or creates the file and locks it.  -EBUSY: another process writes it; -EBADMSG: not
 * an audit file, or damaged; or an error of the system.  Each has a message. */
int audit_open(const char *path, struct audit **ret, struct roar_error *err);

/* Writes pending records, syncs the file, and frees the writer. */
int audit_close(struct audit *a);

/* Starts a segment and returns its number.  -EINVAL: invalid values; -ENOBUFS: the base has
 * too many ranges; -ENOMEM; or the error of writing. */
int audit_begin(struct audit *a, const struct audit_segment *segment,
		uint32_t *ret_index);

/* The positions from `first` to `end` - 1 were consumed.  They are kept in memory until
 * audit_flush(), or until there are many of them.  Positions that are consumed twice are
 * written twice.  -EINVAL: no such segment, or positions outside of it. */
int audit_consumed(struct audit *a, uint32_t index, uint64_t first,
		   uint64_t end);

/* The positions are left out on purpose, or repeated as padding of the last step. */
int audit_dropped(struct audit *a, uint32_t index,
		  const struct interval_set *positions);
int audit_padded(struct audit *a, uint32_t index,
		 const struct interval_set *positions);

/* Writes pending records; with `sync` they are durable when this returns.  Call it before
 * committing a checkpoint that counts these positions. */
int audit_flush(struct audit *a, bool sync);

static inline void audit_closep(struct audit **a)
{
	(void)audit_close(*a);
}

#endif
