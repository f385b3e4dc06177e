/* load_heap.h - an indexed binary heap: items by a value that changes.
 *
 * Items are numbers below a bound.  Their values are in an array of the caller; after one
 * has changed, call load_heap_update().  Ties go to the lowest number, so the order is the
 * same in every process. */
#ifndef SHARD_DEAL_LOAD_HEAP_H
#define SHARD_DEAL_LOAD_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct load_heap {
	const uint64_t *values; /* by number, the caller's */
	bool most_first;
	uint32_t *items; /* numbers; item i has its children at 2i + 1 and 2i + 2 */
	uint32_t *where; /* by number: its index in items */
	uint32_t n;
};

/* For numbers below `bound`.  -ENOMEM. */
int load_heap_init(struct load_heap *h, uint32_t bound, const uint64_t *values,
		   bool most_first);
void load_heap_release(struct load_heap *h);

void load_heap_add(struct load_heap *h, uint32_t item);
uint32_t load_heap_first(const struct load_heap *h); /* it must not be empty */
void load_heap_update(struct load_heap *h, uint32_t item);

#endif
