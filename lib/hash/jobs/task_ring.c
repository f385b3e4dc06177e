/* task_ring.c - see task_ring.h */
#include "hash/jobs/task_ring.h"

#include <stddef.h>

static _Atomic(struct hash_task *) *slot(struct task_ring *ring, uint64_t i)
{
	return &ring->slots[i % RING_SLOTS];
}

/* `head` is read first: read the other way round it could have overtaken the
 * `tail` that was seen. */
bool task_ring_is_empty(struct task_ring *ring)
{
	uint64_t head = atomic_load(&ring->head);

	return head == atomic_load(&ring->tail);
}

struct hash_task *task_ring_take(struct task_ring *ring)
{
	for (;;) {
		uint64_t head = atomic_load(&ring->head);
		struct hash_task *task;

		if (head == atomic_load(&ring->tail))
			return NULL;
		if (!atomic_compare_exchange_weak(&ring->head, &head, head + 1))
			continue;
		task = atomic_exchange(slot(ring, head), NULL);
		if (task)
			return task;
	}
}

bool task_ring_is_full(struct task_ring *ring)
{
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	return tail - atomic_load(&ring->head) >= RING_SLOTS;
}

struct hash_task *task_ring_put(struct task_ring *ring, struct hash_task *task)
{
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	struct hash_task *left = atomic_exchange(slot(ring, tail), task);

	atomic_store(&ring->tail, tail + 1);
	return left;
}

/* How many slots can hold a task.  It may be all of them and not only those
 * from `head` on: what a sleeping taker has not fetched yet stands before. */
static uint64_t n_used(struct task_ring *ring)
{
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	return tail < RING_SLOTS ? tail : RING_SLOTS;
}

bool task_ring_remove(struct task_ring *ring, struct hash_task *task)
{
	for (uint64_t i = 0; i < n_used(ring); i++) {
		struct hash_task *found = atomic_load_explicit(
			slot(ring, i), memory_order_relaxed);

		if (found == task)
			return atomic_compare_exchange_strong(slot(ring, i),
							      &found, NULL);
	}
	return false;
}

struct hash_task *task_ring_rescue(struct task_ring *ring)
{
	for (uint64_t i = 0; i < n_used(ring); i++) {
		struct hash_task *task = NULL;

		if (atomic_load_explicit(slot(ring, i), memory_order_relaxed))
			task = atomic_exchange(slot(ring, i), NULL);
		if (task)
			return task;
	}
	return NULL;
}
