/* load_heap.c - see load_heap.h */
#include "shard/deal/load_heap.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int load_heap_init(struct load_heap *h, uint32_t bound, const uint64_t *values,
		   bool most_first)
{
	*h = (struct load_heap){ .values = values, .most_first = most_first };
	h->items = calloc((size_t)bound + 1, sizeof(*h->items));
	h->where = calloc((size_t)bound + 1, sizeof(*h->where));
	if (h->items && h->where)
		return 0;
	load_heap_release(h);
	return -ENOMEM;
}

void load_heap_release(struct load_heap *h)
{
	free(h->items);
	free(h->where);
	*h = (struct load_heap){ 0 };
}

static bool is_before(const struct load_heap *h, uint32_t a, uint32_t b)
{
	uint64_t x = h->values[a], y = h->values[b];

	if (x == y)
		return a < b;
	return h->most_first ? x > y : x < y;
}

static void put(struct load_heap *h, uint32_t index, uint32_t item)
{
	h->items[index] = item;
	h->where[item] = index;
}

static void rise(struct load_heap *h, uint32_t item)
{
	uint32_t at = h->where[item];

	while (at > 0 && is_before(h, item, h->items[(at - 1) / 2])) {
		put(h, at, h->items[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	put(h, at, item);
}

static void sink(struct load_heap *h, uint32_t item)
{
	uint32_t at = h->where[item];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child + 1 < h->n &&
		    is_before(h, h->items[child + 1], h->items[child]))
			child++;
		if (child >= h->n || is_before(h, item, h->items[child]))
			break;
		put(h, at, h->items[child]);
		at = child;
	}
	put(h, at, item);
}

void load_heap_add(struct load_heap *h, uint32_t item)
{
	put(h, h->n++, item);
	rise(h, item);
}

uint32_t load_heap_first(const struct load_heap *h)
{
	assert(h->n);
	return h->items[0];
}

void load_heap_update(struct load_heap *h, uint32_t item)
{
	rise(h, item);
	sink(h, item);
}
