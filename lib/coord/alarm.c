/* alarm.c - see alarm.h */
#include "coord/alarm.h"

#include <assert.h>
#include <stdlib.h>

#include "base/vec.h"

void alarms_release(struct alarms *all)
{
	free(all->heap);
	*all = (struct alarms){ 0 };
}

int alarms_reserve(struct alarms *all)
{
	return vec_reserve(&all->heap, &all->cap, all->count + 1,
			   sizeof(*all->heap));
}

static void put(struct alarms *all, size_t i, struct alarm *a)
{
	all->heap[i] = a;
	a->place = (uint32_t)i + 1;
}

static void sift_up(struct alarms *all, size_t i, struct alarm *a)
{
	while (i > 0 && all->heap[(i - 1) / 2]->due_ms > a->due_ms) {
		put(all, i, all->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	put(all, i, a);
}

static void sift_down(struct alarms *all, size_t i, struct alarm *a)
{
	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < all->count &&
		    all->heap[child + 1]->due_ms < all->heap[child]->due_ms)
			child++;
		if (child >= all->count ||
		    all->heap[child]->due_ms >= a->due_ms)
			break;
		put(all, i, all->heap[child]);
		i = child;
	}
	put(all, i, a);
}

static void settle(struct alarms *all, size_t i, struct alarm *a)
{
	if (i > 0 && all->heap[(i - 1) / 2]->due_ms > a->due_ms)
		sift_up(all, i, a);
	else
		sift_down(all, i, a);
}

void alarm_set(struct alarms *all, struct alarm *a, int64_t due_ms)
{
	size_t i = a->place ? a->place - 1 : all->count;

	assert(i < all->cap);
	if (!a->place)
		all->count++;
	a->due_ms = due_ms;
	settle(all, i, a);
}

void alarm_clear(struct alarms *all, struct alarm *a)
{
	struct alarm *last;
	size_t i = a->place;

	if (!i--)
		return;
	a->place = 0;
	last = all->heap[--all->count];
	if (last != a)
		settle(all, i, last);
}

int64_t alarms_due_ms(const struct alarms *all)
{
	return all->count ? all->heap[0]->due_ms : INT64_MAX;
}
