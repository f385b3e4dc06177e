/* sample_block.h - several samples in memory, read with as few reads as possible.
 *
 * Consecutive samples of a file are read at once, with the bytes between them (headers of
 * an archive).  Blocks are reused with their memory: a new mapping costs a page fault per
 * page, which takes as long as reading the page. */
#ifndef ROAR_READER_SAMPLE_BLOCK_H
#define ROAR_READER_SAMPLE_BLOCK_H

#include "reader/reader_internal.h"

enum {
	BLOCK_BYTES = 256 * 1024, /* of a block, unless one sample has more */
	BLOCK_ENTRIES = 1024,
	BLOCK_DIRECT = 64 * 1024, /* larger ones go to their destination */
};

/* Blocks to reuse.  A block keeps the buffers it came from alive. */
struct buffers;

int buffers_new(struct buffers **ret);
void buffers_drop(struct buffers *b);

/* One sample of a block. */
struct block_entry {
	const struct reader *reader;
	uint64_t number;
	uint64_t at; /* offset of its bytes in the block */
};

/* How many samples of the plan, from the k-th on, fit one block; `ret_bytes` is their
 * approximate size.  At least 1; 0 at the end of the plan. */
size_t block_choose(const struct reader_plan *plan, uint64_t k,
		    uint64_t *ret_bytes);

/* Is the k-th sample of the plan large, so that its parts should be read directly into
 * their destination? */
bool block_is_direct(const struct reader_plan *plan, uint64_t k,
		     const struct reader **ret_reader, uint64_t *ret_number);

/* The end of a short run of samples, from the k-th on, that are in the page cache; k if
 * that is not known of the k-th. */
uint64_t block_cached_to(const struct reader_plan *plan, uint64_t k);

/* Do we know that the bytes of these samples are in the page cache? */
bool block_is_cached(const struct reader_plan *plan, uint64_t k, size_t n);

/* Reads n samples from the k-th on.  `home` may be NULL.  A failure is kept in the block, and
 * block_describe() returns it for that sample, so the samples before it are not lost.  0 or
 * -ENOMEM. */
int block_read(struct buffers *home, const struct reader_plan *plan, uint64_t k,
	       size_t n, struct reader_block **ret);

/* The number of samples that were requested. */
size_t block_count(const struct reader_block *b);

/* The i-th sample.  It is valid until the next call for this block. */
int block_describe(struct reader_block *b, size_t i,
		   const struct reader_sample **ret, struct roar_error *err);

/* The reader of the i-th sample. */
const struct reader *block_reader(const struct reader_block *b, size_t i);

#endif
