/* timer_heap.h - timers in a binary heap, the earliest on top.
 *
 * A timer is embedded in its owner and has its index in the heap, so that it can be changed
 * and removed in logarithmic time.  Memory is needed only for more timers than the heap has
 * held before: timer_heap_reserve() allocates it, so that setting cannot fail. */
#ifndef ROAR_BASE_TIMER_HEAP_H
#define ROAR_BASE_TIMER_HEAP_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed before its first use. */
struct timer {
	int64_t due_ms;
	uint32_t place; /* in the heap, from 1 on; 0: not set */
};

struct timer_heap {
	struct timer **items; /* items[place - 1] */
	size_t count;
	size_t cap;
};

void timer_heap_release(struct timer_heap *h);

/* Makes room for one timer more than are set now.  0 or -ENOMEM. */
int timer_heap_reserve(struct timer_heap *h);

/* Sets the timer, or moves it if it is set.  One that is not set needs room, see
 * timer_heap_reserve(). */
void timer_heap_set(struct timer_heap *h, struct timer *t, int64_t due_ms);

/* Does nothing if the timer is not set. */
void timer_heap_remove(struct timer_heap *h, struct timer *t);

/* The earliest timer, or NULL. */
struct timer *timer_heap_first(const struct timer_heap *h);

/* When the earliest is due; INT64_MAX if none is set. */
int64_t timer_heap_due_ms(const struct timer_heap *h);

#endif
