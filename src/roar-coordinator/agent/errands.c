/* errands.c - calls under way, by the numbers the coordinator knows them by.
 *
 * A number is a slot (16 bits) and how often that was used (16 bits): a reply that was on its
 * way when its call was taken back does not meet the next one. */
#include <assert.h>
#include <stdlib.h>

#include "agent/agent_internal.h"
#include "base/vec.h"

enum { SLOT_BITS = 16, SLOT_MASK = 0xffff };

static struct errand *add_slot(struct agent *a)
{
	struct errand **place;
	struct errand *e;

	if (a->n_errands == AGENT_MAX_ERRANDS)
		return NULL;
	e = calloc(1, sizeof(*e));
	place = e ? VEC_PUSH(a->errands, a->n_errands, a->errands_cap) : NULL;
	if (!place) {
		free(e);
		return NULL;
	}
	e->number = (uint32_t)(a->n_errands - 1);
	*place = e;
	return e;
}

struct errand *errand_new(struct agent *a, struct lane *l, uint64_t call)
{
	struct errand *e = a->free_errands;

	assert(l);
	if (e)
		a->free_errands = e->next;
	else
		e = add_slot(a);
	if (!e)
		return NULL;
	*e = (struct errand){ .lane = l,
			      .call = call,
			      .number = e->number + (1u << SLOT_BITS) };
	return e;
}

struct errand *errand_find(struct agent *a, uint32_t number)
{
	size_t slot = number & SLOT_MASK;
	struct errand *e = slot < a->n_errands ? a->errands[slot] : NULL;

	return e && e->lane && e->number == number ? e : NULL;
}

void errand_done(struct agent *a, struct errand *e)
{
	assert(e->lane);
	free(e->hello);
	e->hello = NULL;
	e->lane = NULL;
	e->next = a->free_errands;
	a->free_errands = e;
}

void errands_release(struct agent *a)
{
	for (size_t i = 0; i < a->n_errands; i++) {
		free(a->errands[i]->hello);
		free(a->errands[i]);
	}
	free(a->errands);
}
