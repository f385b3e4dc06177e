/* bell.c - sleeping until there is something, and waking who sleeps.
 *
 * Who is about to sleep sets its bit, looks once more, and sleeps on the word it had
 * read before.  Who changed something looks at the bits afterwards.  One of the two sees
 * the other; and a bell that rings in between has another value, so that the sleep does
 * not begin.  Who rings takes all bits away: the next change costs no system call while
 * the woken are on their way.  A ringer may be killed before it wakes anybody: sleeps are
 * short slices (arena_wait.c). */
#include "arena/protocol/protocol.h"

static uint64_t *waiting(const struct arena_map *m, enum arena_bell bell)
{
	return bell == BELL_UNITS ? &m->header->waiting_consumers :
				    &m->header->waiting_producers;
}

static uint32_t *word(const struct arena_map *m, enum arena_bell bell)
{
	return bell == BELL_UNITS ? &m->header->bell_units :
				    &m->header->bell_room;
}

void bell_ring(const struct arena_map *m, enum arena_bell bell)
{
	if (!shared_load(waiting(m, bell)))
		return;
	(void)shared_swap(waiting(m, bell), 0);
	shared_add32(word(m, bell), 1);
	shared_wake_all(word(m, bell));
}

uint32_t *bell_arm(const struct arena_map *m, enum arena_bell bell, unsigned me,
		   uint32_t *ret_seen)
{
	*ret_seen = shared_load32(word(m, bell));
	(void)shared_or(waiting(m, bell), 1ULL << me);
	return word(m, bell);
}

void bell_disarm(const struct arena_map *m, enum arena_bell bell, unsigned me)
{
	(void)shared_and(waiting(m, bell), ~(1ULL << me));
}
