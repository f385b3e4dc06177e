/* ckpt_slots.h - the data file of a delta: changed leaves in slots of equal length.
 *
 *	offset
 *	     0  4096  header of one tensor "roar.leaves"
 *	  4096        slot 0, slot 1, ...
 *
 * Threads put leaves in; the file is written in blocks of several slots.  The first block is
 * kept until the end, because its header has the number of slots. */
#ifndef ROAR_CKPT_SLOTS_H
#define ROAR_CKPT_SLOTS_H

#include <pthread.h>
#include <stdint.h>

#include "blob/blob.h"
#include "ckpt/ckpt_layout.h"

struct slot_block {
	struct slot_block *next; /* in the list of free ones */
	uint64_t number;
	unsigned n_taken, n_filled; /* slots */
	char *memory; /* CKPT_ALIGN bytes for the header, then the slots */
};

struct ckpt_slots {
	struct blob_store *store;
	const char *path;
	size_t slot_bytes;
	unsigned n_in_block;
	pthread_mutex_t
		lock; /* of all below, but not of the memory of taken slots */
	struct blob_writer *writer; /* NULL until there is a leaf */
	struct slot_block *open; /* with free slots */
	struct slot_block *first; /* kept until the end */
	struct slot_block *free;
	uint64_t n_blocks;
	uint64_t n_slots;
};

void ckpt_slots_init(struct ckpt_slots *s, struct blob_store *store,
		     const char *path, size_t slot_bytes, size_t block_bytes);
/* Stores a leaf.  *ret is its offset in the file. */
int ckpt_slots_put(struct ckpt_slots *s, const void *leaf, size_t len,
		   uint64_t *ret, struct roar_error *err);
/* Writes the rest.  *ret_size is 0 if there was no leaf, and then there is no file. */
int ckpt_slots_finish(struct ckpt_slots *s, uint64_t *ret_size,
		      struct roar_error *err);
/* Also after ckpt_slots_finish(); without that, the file is removed. */
void ckpt_slots_release(struct ckpt_slots *s);

#endif
