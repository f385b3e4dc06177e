/* chunk.h - records in values of etcd.
 *
 * etcd takes requests up to 1.5 MiB, and each of its transactions is a round of its members:
 * so records that come together share a chunk, and one that is too long for a chunk is
 * spread over several.  A chunk is, numbers little-endian:
 *
 *	0	u64	CRC64NVME of what follows
 *	8	u8	flags: 1 it goes on with the record of the chunk before,
 *			2 the next chunk goes on with its last record
 *	9		u32 length, record, u32 length, record ...
 *
 * Of a record that is spread each chunk has a part, and nothing else; the length, of the
 * whole, is in the first.  Parts that no last part follows are what a leader had written
 * when it ended: nothing of that was acknowledged, and they are dropped when a record
 * begins anew, or nothing comes any more. */
#ifndef ETCD_CHUNK_H
#define ETCD_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum {
	CHUNK_SIZE = 1 << 20, /* bytes, from which on another one is begun */
	CHUNK_MAX_RECORD = 32 << 20,
};

/* A queue of chunks that are being written.  Zeroed: empty. */
struct chunk {
	struct chunk *next;
	struct str bytes;
	uint64_t last; /* the record that is whole with it; 0: none */
	uint8_t flags;
	bool is_closed; /* nothing is added any more */
};

struct chunk_queue {
	struct chunk *first, *last;
	size_t n; /* chunks */
	size_t n_bytes;
};

/* Adds a record, which has this number.  -EMSGSIZE when it is empty or too long, -ENOMEM;
 * then nothing was added. */
int chunk_add(struct chunk_queue *q, const void *record, size_t len,
	      uint64_t number);
/* The next record begins a chunk. */
void chunk_close(struct chunk_queue *q);
/* The first chunk as it is to be stored: nothing is added to it any more. */
const struct chunk *chunk_first(struct chunk_queue *q);
void chunk_drop_first(struct chunk_queue *q);
void chunk_queue_release(struct chunk_queue *q);

/* Reading: chunks in their order. */
struct chunk_reader {
	struct str record; /* parts of one that is not whole */
	uint32_t len; /* of the whole; 0: there is none */
};

/* Gives all records of the chunk, and the one that it makes whole, to `each`; a negative
 * return of it is returned.  -EBADMSG for what is no chunk. */
int chunk_read(struct chunk_reader *r, const void *data, size_t len,
	       int (*each)(void *to, const void *record, size_t len), void *to);
void chunk_reader_release(struct chunk_reader *r);

#endif
