/* timer_heap.c - a binary heap whose members know their places. */
#include "net/timer_heap.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

void timer_heap_release(struct timer_heap *h)
{
	free(h->items);
	*h = (struct timer_heap){ 0 };
}

static void put(struct timer_heap *h, size_t at, struct loop_timer *t)
{
	h->items[at] = t;
	t->place = (uint32_t)at + 1;
}

static void rise(struct timer_heap *h, size_t at)
{
	struct loop_timer *t = h->items[at];

	while (at > 0 && h->items[(at - 1) / 2]->due_ms > t->due_ms) {
		put(h, at, h->items[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	put(h, at, t);
}

static void sink(struct timer_heap *h, size_t at)
{
	struct loop_timer *t = h->items[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < h->count &&
		    h->items[child + 1]->due_ms < h->items[child]->due_ms)
			child++;
		if (child >= h->count || h->items[child]->due_ms >= t->due_ms)
			break;
		put(h, at, h->items[child]);
		at = child;
	}
	put(h, at, t);
}

int timer_heap_set(struct timer_heap *h, struct loop_timer *t, int64_t due_ms)
{
	if (t->place == 0) {
		struct loop_timer **item = VEC_PUSH(h->items, h->count, h->cap);

		if (!item)
			return -ENOMEM;
		put(h, h->count - 1, t);
	}
	t->due_ms = due_ms;
	rise(h, t->place - 1);
	sink(h, t->place - 1);
	return 0;
}

void timer_heap_remove(struct timer_heap *h, struct loop_timer *t)
{
	size_t at = t->place - 1;

	if (t->place == 0)
		return;
	assert(h->items[at] == t);
	t->place = 0;
	h->count--;
	if (at == h->count)
		return;
	put(h, at, h->items[h->count]);
	rise(h, at);
	sink(h, h->items[at]->place - 1);
}

struct loop_timer *timer_heap_first(const struct timer_heap *h)
{
	return h->count ? h->items[0] : NULL;
}
