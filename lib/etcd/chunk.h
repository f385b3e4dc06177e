/* chunk.h - records in values of etcd.
 *
 * etcd accepts requests up to 1.5 MiB, and each transaction costs a round trip among its
 * members.  So records that arrive together share a chunk, and a record that is too long
 * for one chunk is split.  A chunk is, with numbers in little-endian order:
 *
 *	0	u64	CRC64NVME of the bytes after it
 *	8	u8	flags: 1 continues the record of the previous chunk,
 *			2 the next chunk continues its last record
 *	9		u32 length, record, u32 length, record ...
 *
 * Each chunk of a split record has one part of it, and nothing else; the first one has the
 * total length.  Parts without a last part were written by a leader that died before the
 * record was acknowledged.  They are dropped when another record starts, or at the end. */
#ifndef ETCD_CHUNK_H
#define ETCD_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum {
	CHUNK_SIZE = 1 << 20, /* bytes at which the next chunk is started */
	CHUNK_MAX_RECORD = 32 << 20,
};

/* A queue of chunks that are being written.  Zeroed: empty. */
struct chunk {
	struct chunk *next;
	struct str bytes;
	/* Number of the last record that it completes; 0: none. */
	uint64_t last;
	uint8_t flags;
	bool is_closed; /* accepts no more records */
};

struct chunk_queue {
	struct chunk *first, *last;
	size_t n; /* chunks */
	size_t n_bytes;
};

/* Adds a record with this number.  -EMSGSIZE: empty or too long; -ENOMEM.  On failure
 * nothing was added. */
int chunk_add(struct chunk_queue *q, const void *record, size_t len,
	      uint64_t number);
/* The next record starts a new chunk. */
void chunk_close(struct chunk_queue *q);
/* The first chunk, ready to be stored; it accepts no more records. */
const struct chunk *chunk_first(struct chunk_queue *q);
void chunk_drop_first(struct chunk_queue *q);
void chunk_queue_release(struct chunk_queue *q);

/* Reading: chunks in their order. */
struct chunk_reader {
	struct str record; /* parts of an incomplete record */
	uint32_t len; /* of the complete record; 0: none */
};

/* Passes all records of the chunk, and the record that it completes, to `each`.  A negative
 * return of `each` is returned.  -EBADMSG: not a chunk. */
int chunk_read(struct chunk_reader *r, const void *data, size_t len,
	       int (*each)(void *to, const void *record, size_t len), void *to);
void chunk_reader_release(struct chunk_reader *r);

#endif
