/* held_units.c - units in the hands of this process: see arena.h */
#include "arena/arena.h"

#include <errno.h>
#include <stdlib.h>

int held_unit_buffers(struct held_unit *h, size_t n)
{
	h->unit.buffers = h->few;
	if (n > HELD_FEW) {
		h->unit.buffers = calloc(n, sizeof(*h->unit.buffers));
		if (!h->unit.buffers)
			return failure(-ENOMEM, "out of memory");
	}
	h->unit.n_buffers = n;
	return 0;
}

struct roar_arena_unit *held_unit_take(struct roar_arena *a, uint32_t index)
{
	struct held_unit *h = &a->hands[index];

	atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
	atomic_store_explicit(&h->refs, 1, memory_order_relaxed);
	return &h->unit;
}

/* Once the place is another's it may come back into our hands on another thread: so this
 * is to be done before. */
struct held_memory held_unit_put_down(struct held_unit *h)
{
	struct held_memory things = { .buffers = h->unit.buffers,
				      .children = h->children,
				      .n_children = h->n_children };

	h->unit.buffers = NULL;
	h->children = NULL;
	h->n_children = 0;
	h->received = false;
	h->gone = false;
	atomic_store_explicit(&h->refs, 0, memory_order_relaxed);
	return things;
}

void held_unit_pick_up(struct held_unit *h, const struct held_memory *things)
{
	h->unit.buffers = things->buffers;
	h->children = things->children;
	h->n_children = things->n_children;
	atomic_store_explicit(&h->refs, 1, memory_order_relaxed);
}

void held_memory_free(const struct held_unit *h,
		      const struct held_memory *things)
{
	if (things->buffers != h->few)
		free(things->buffers);
	free(things->children);
}

void held_unit_forget(struct held_unit *h)
{
	struct held_memory things;

	free(h->memory);
	h->memory = NULL;
	things = held_unit_put_down(h);
	held_memory_free(h, &things);
}

API void roar_arena_retain(struct roar_arena_unit *unit)
{
	struct held_unit *h = (struct held_unit *)unit;

	atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
}

/* A child made by fork() has the pages and no say: there only its own copy of the
 * counts changes. */
static void give_back(struct roar_arena *a, uint32_t index, uint64_t generation,
		      bool received)
{
	if (arena_is_forked(a))
		return;
	unit_drop(&a->map, arena_me(a), index, generation);
	if (received)
		shared_count(&arena_counts(a)->released, 1);
}

API void roar_arena_release(struct roar_arena_unit *unit)
{
	struct held_unit *h = (struct held_unit *)unit;
	struct roar_arena *a;
	uint32_t index;
	uint64_t generation;
	bool received;
	bool gone;

	if (!unit ||
	    atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) != 1)
		return;
	a = unit->arena;
	index = unit->index;
	generation = unit->generation;
	received = h->received;
	gone = h->gone;
	held_unit_forget(h);
	if (index == UINT32_MAX)
		free(h);
	else if (gone)
		atomic_fetch_sub(&a->n_gone, 1);
	else
		give_back(a, index, generation, received);
	arena_unref(a);
}
