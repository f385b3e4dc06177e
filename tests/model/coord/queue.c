/* queue.c - events in the order of their time; a binary heap */
#include <stdlib.h>

#include "base/vec.h"
#include "sim.h"

static bool is_before(const struct event *a, const struct event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

void queue_add(struct queue *q, struct event e)
{
	size_t i = q->n;

	if (!VEC_PUSH(q->heap, q->n, q->cap))
		abort();
	e.order = ++q->last;
	for (; i && is_before(&e, &q->heap[(i - 1) / 2]); i = (i - 1) / 2)
		q->heap[i] = q->heap[(i - 1) / 2];
	q->heap[i] = e;
}

bool queue_take(struct queue *q, struct event *ret)
{
	struct event last;
	size_t i = 0;

	if (!q->n)
		return false;
	*ret = q->heap[0];
	last = q->heap[--q->n];
	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= q->n)
			break;
		if (child + 1 < q->n &&
		    is_before(&q->heap[child + 1], &q->heap[child]))
			child++;
		if (!is_before(&q->heap[child], &last))
			break;
		q->heap[i] = q->heap[child];
		i = child;
	}
	q->heap[i] = last;
	return true;
}

void queue_release(struct queue *q)
{
	for (size_t i = 0; i < q->n; i++)
		free(q->heap[i].what);
	free(q->heap);
	*q = (struct queue){ 0 };
}
