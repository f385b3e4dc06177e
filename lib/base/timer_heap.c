/* timer_heap.c - see timer_heap.h */
#include "base/timer_heap.h"

#include <assert.h>
#include <stdlib.h>

#include "base/vec.h"

void timer_heap_release(struct timer_heap *h)
{
	free(h->items);
	*h = (struct timer_heap){ 0 };
}

int timer_heap_reserve(struct timer_heap *h)
{
	return vec_reserve(&h->items, &h->cap, h->count + 1, sizeof(*h->items));
}

static void put(struct timer_heap *h, size_t at, struct timer *t)
{
	h->items[at] = t;
	t->place = (uint32_t)at + 1;
}

static void sift_up(struct timer_heap *h, size_t at, struct timer *t)
{
	while (at > 0 && h->items[(at - 1) / 2]->due_ms > t->due_ms) {
		put(h, at, h->items[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	put(h, at, t);
}

static void sift_down(struct timer_heap *h, size_t at, struct timer *t)
{
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

/* Puts the timer where it belongs, starting from the free place `at`. */
static void sift(struct timer_heap *h, size_t at, struct timer *t)
{
	if (at > 0 && h->items[(at - 1) / 2]->due_ms > t->due_ms)
		sift_up(h, at, t);
	else
		sift_down(h, at, t);
}

void timer_heap_set(struct timer_heap *h, struct timer *t, int64_t due_ms)
{
	size_t at = t->place ? t->place - 1 : h->count;

	assert(at < h->cap);
	if (!t->place)
		h->count++;
	t->due_ms = due_ms;
	sift(h, at, t);
}

void timer_heap_remove(struct timer_heap *h, struct timer *t)
{
	size_t at = t->place;
	struct timer *last;

	if (!at--)
		return;
	assert(h->items[at] == t);
	t->place = 0;
	last = h->items[--h->count];
	if (last != t)
		sift(h, at, last);
}

struct timer *timer_heap_first(const struct timer_heap *h)
{
	return h->count ? h->items[0] : NULL;
}

int64_t timer_heap_due_ms(const struct timer_heap *h)
{
	return h->count ? h->items[0]->due_ms : INT64_MAX;
}
