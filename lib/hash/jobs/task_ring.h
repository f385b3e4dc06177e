/* task_ring.h - the queue of a hasher: one producer, many consumers.
 *
 * Private to lib/hash.  There is no lock, because the takers run at idle priority: on a
 * busy machine a preempted taker may not run again for a fifth of a second.  The putter,
 * for which a traced process is waiting, would wait that long for a lock held by a taker.
 *
 * Two indices only increase: the putter owns `tail`, takers advance `head`.  `head` is only
 * a hint where to look.  A task is taken by exchanging its slot with NULL, which succeeds
 * for exactly one thread.  So the putter can take any task back, and a taker that sleeps
 * between the two steps takes nothing or a newer task, but never the same one twice. */
#ifndef ROAR_HASH_TASK_RING_H
#define ROAR_HASH_TASK_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct hash_task;

enum { RING_SLOTS = 16384 };

/* All zeroes is an empty ring. */
struct task_ring {
	_Atomic uint64_t head; /* next to take */
	_Atomic uint64_t tail; /* next to put */
	_Atomic(struct hash_task *) slots[RING_SLOTS];
};

/* Any thread: is there nothing to take, or is a taker about to take the last task? */
bool task_ring_is_empty(struct task_ring *ring);

/* Any thread: the oldest task, or NULL. */
struct hash_task *task_ring_take(struct task_ring *ring);

/* Putter: is there no free slot now? */
bool task_ring_is_full(struct task_ring *ring);

/* Putter: appends to a ring that is not full.  Returns NULL, or a task that a sleeping
 * taker had left in the slot; it belongs to the putter again. */
struct hash_task *task_ring_put(struct task_ring *ring, struct hash_task *task);

/* Putter: takes that task back.  False: a taker has it. */
bool task_ring_remove(struct task_ring *ring, struct hash_task *task);

/* Putter: takes back a task that a sleeping taker has left in an otherwise empty ring;
 * NULL: none. */
struct hash_task *task_ring_rescue(struct task_ring *ring);

#endif
