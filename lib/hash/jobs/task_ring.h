/* task_ring.h - the queue of a hasher: one thread puts in, many take out.
 *
 * Private to lib/hash.  There is no lock, because the takers run at idle
 * priority: on a busy machine one that is preempted may not run again for a
 * fifth of a second, and the putter, with a traced process behind it, would
 * wait that long for a lock held there.
 *
 * Two indices grow for ever: the putter owns `tail`, takers advance `head`.
 * Advancing `head` is only a hint where to look.  What gives a task away is the
 * exchange of its slot with NULL, which succeeds for exactly one thread, so
 * that the putter can take any task back, and a taker that sleeps between the
 * two steps takes nothing, or something newer, but never the same twice. */
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

/* Any thread: nothing to take (or a taker is about to take the last). */
bool task_ring_is_empty(struct task_ring *ring);

/* Any thread: the oldest task, or NULL. */
struct hash_task *task_ring_take(struct task_ring *ring);

/* Putter: no room now. */
bool task_ring_is_full(struct task_ring *ring);

/* Putter: appends to a ring that is not full.  Returns NULL, or a task that had
 * been left in the slot by a sleeping taker and is the putter's again. */
struct hash_task *task_ring_put(struct task_ring *ring, struct hash_task *task);

/* Putter: takes that task back.  False when somebody has it. */
bool task_ring_remove(struct task_ring *ring, struct hash_task *task);

/* Putter: takes back any task that a sleeping taker has left behind in a ring
 * that is empty otherwise; NULL when there is none. */
struct hash_task *task_ring_rescue(struct task_ring *ring);

#endif
