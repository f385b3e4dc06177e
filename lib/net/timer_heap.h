/* timer_heap.h - the timers of a loop, the one that is due first on top.
 *
 * A binary heap of pointers; each timer knows its place, so that it can be moved or
 * taken out in logarithmic time. */
#ifndef NET_TIMER_HEAP_H
#define NET_TIMER_HEAP_H

#include <stddef.h>

#include "net/loop.h"

struct timer_heap {
	struct loop_timer **items; /* items[place - 1] */
	size_t count;
	size_t cap;
};

void timer_heap_release(struct timer_heap *h);
/* 0 or -ENOMEM (heap and timer unchanged). */
int timer_heap_set(struct timer_heap *h, struct loop_timer *t, int64_t due_ms);
void timer_heap_remove(struct timer_heap *h, struct loop_timer *t);
/* The first, or NULL. */
struct loop_timer *timer_heap_first(const struct timer_heap *h);

#endif
