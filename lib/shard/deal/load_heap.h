/* load_heap.h - numbers ordered by a value that changes: which one has the least?
 *
 * A binary heap over numbers below a bound, which finds each of them again.  The values
 * are the caller's, in an array; after one has changed, load_heap_update() says which.  Among
 * equals the lowest number is first, so that the order is the same in every process. */
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
