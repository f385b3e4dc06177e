/* sample_block.h - some samples in memory, read with as few reads as their places allow.
 *
 * Samples that lie behind each other in a file are read at once, with what is between
 * them (the headers of an archive).  Blocks that are gone are used again, with their
 * memory: that of a new mapping costs a fault for each page, which is as long as
 * reading it takes. */
#ifndef ROAR_READER_SAMPLE_BLOCK_H
#define ROAR_READER_SAMPLE_BLOCK_H

#include "reader/reader_internal.h"

enum {
	BLOCK_BYTES = 256 * 1024, /* of a block, unless one sample has more */
	BLOCK_ENTRIES = 1024,
	BLOCK_DIRECT = 64 * 1024, /* bytes that are better not copied twice */
};

/* Blocks to use again.  A block keeps those it came from alive. */
struct buffers;

int buffers_new(struct buffers **ret);
void buffers_drop(struct buffers *b);

/* One sample of a block. */
struct block_entry {
	const struct reader *reader;
	uint64_t number;
	uint64_t at; /* where its bytes begin in the block */
};

/* How many samples of the plan, from the k-th on, are one block; `ret_bytes` is about what
 * they take.  At least 1; 0 at the end of the plan. */
size_t block_choose(const struct reader_plan *plan, uint64_t k,
		    uint64_t *ret_bytes);

/* Is the k-th sample of the plan a large one, whose parts can be read where they are
 * wanted? */
bool block_is_direct(const struct reader_plan *plan, uint64_t k,
		     const struct reader **ret_reader, uint64_t *ret_number);

/* The samples of the plan from the k-th up to this one, at most a few, are in the page
 * cache; k: that is not known of it. */
uint64_t block_cached_to(const struct reader_plan *plan, uint64_t k);

/* Do we know that the bytes of these samples are in the page cache? */
bool block_is_cached(const struct reader_plan *plan, uint64_t k, size_t n);

/* Reads them.  `home` may be NULL.  What fails is kept in the block and told by
 * block_describe() when that sample is asked for, so the ones before it are not
 * lost.  0 or -ENOMEM. */
int block_read(struct buffers *home, const struct reader_plan *plan, uint64_t k,
	       size_t n, struct reader_block **ret);

/* How many samples were asked for. */
size_t block_count(const struct reader_block *b);

/* The i-th sample.  It is valid until the next call for this block. */
int block_describe(struct reader_block *b, size_t i,
		   const struct reader_sample **ret, struct roar_error *err);

/* Whose it is. */
const struct reader *block_reader(const struct reader_block *b, size_t i);

#endif
