/* party.c - places of those who have joined */
#include "arena/protocol/protocol.h"

#include <errno.h>

/* Is the unit on its way, and may it have the bit of this place, meant for who was here
 * before?  Its producer takes that bit away when it is done, and would take it from
 * whoever is here then. */
static bool is_meant(const struct arena_map *m, unsigned place, uint32_t unit)
{
	unsigned state = unit_state(shared_load(&m->units[unit].word));
	uint64_t holders = shared_load(&m->units[unit].holders);

	return (state == UNIT_WRITING || state == UNIT_READY) &&
	       (holders == ARENA_GUARD ||
		(holders & ARENA_GUARD && holders >> place & 1));
}

/* Who published before we had the place is seen here, or is done; who begins later does not
 * find the former consumer in the set. */
bool party_is_clean(const struct arena_map *m, unsigned place)
{
	uint64_t word = shared_load(&m->parties[place].word);

	if (!(m->g.flags & ROAR_ARENA_BROADCAST) ||
	    !(party_roles(word) & ROAR_ARENA_CONSUMER))
		return true;
	for (uint32_t i = 0; i < m->g.n_units; i++)
		if (is_meant(m, place, i))
			return false;
	return true;
}

static bool claim(const struct arena_map *m, unsigned place, int pid,
		  unsigned roles)
{
	struct arena_party *p = &m->parties[place];
	uint64_t word = shared_load(&p->word);

	/* The pid comes with the claim: who is killed right after it can be
	 * found dead. */
	if (party_state(word) != PARTY_FREE ||
	    !shared_cas(&p->word, word,
			party_word(party_nth(word) + 1, (uint64_t)pid, 0, roles,
				   PARTY_JOINING)))
		return false;
	if (!party_nth(word) || party_is_clean(m, place))
		return true;
	party_leave(m, place);
	return false;
}

int party_claim(const struct arena_map *m, unsigned place, bool any, int pid,
		unsigned roles)
{
	unsigned end = m->g.flags & ROAR_ARENA_BROADCAST ? ARENA_CONSUMERS :
							   ARENA_PARTIES;

	if (!any)
		return claim(m, place, pid, roles) ? (int)place : -EADDRINUSE;
	for (unsigned i = place; i < end; i++)
		if (claim(m, i, pid, roles))
			return (int)i;
	return -EUSERS;
}

/* The position is read before the bit is set: everything published after the bit was seen
 * has it, and what comes in between has not and is skipped.  Nothing is written before the
 * place is surely ours: who was taken for dead has a successor there. */
int party_enter(const struct arena_map *m, unsigned me)
{
	struct arena_party *p = &m->parties[me];
	uint64_t word = shared_load(&p->word);
	uint64_t position = queue_tail(m);
	uint64_t alive = party_word(party_nth(word), (uint64_t)party_pid(word),
				    0, party_roles(word), PARTY_ALIVE);

	if (party_state(word) != PARTY_JOINING ||
	    !shared_cas(&p->word, word, alive))
		return -ESTALE;
	shared_store(&p->joined_at, position);
	shared_store(&p->head, position);
	if (party_roles(word) & ROAR_ARENA_CONSUMER) {
		(void)shared_or(&m->header->consumers, 1ULL << me);
		bell_ring(m, BELL_ROOM);
	}
	return 0;
}

static void drop_untaken(const struct arena_map *m, unsigned me,
			 bool (*keeps)(void *arg, uint32_t unit), void *arg)
{
	for (uint32_t i = 0; i < m->g.n_units; i++) {
		uint64_t word = shared_load(&m->units[i].word);

		if (unit_state(word) == UNIT_READY &&
		    shared_load(&m->units[i].holders) >> me & 1 &&
		    (!keeps || !keeps(arg, i)))
			unit_drop_bit(m, me, i, word, 1ULL << me);
	}
}

void party_retire(const struct arena_map *m, unsigned me,
		  bool (*keeps)(void *arg, uint32_t unit), void *arg)
{
	struct arena_party *p = &m->parties[me];
	uint64_t word = shared_load(&p->word);

	(void)shared_and(&m->header->consumers, ~(1ULL << me));
	(void)shared_add(&m->header->departures, 1);
	if (m->g.flags & ROAR_ARENA_BROADCAST)
		drop_untaken(m, me, keeps, arg);
	/* Its death, with units in hand, is no news to who waits. */
	shared_store(&p->word,
		     party_word(party_nth(word), (uint64_t)party_pid(word), 0,
				0, PARTY_ALIVE));
}

void party_leave(const struct arena_map *m, unsigned me)
{
	struct arena_party *p = &m->parties[me];
	uint64_t word = shared_load(&p->word);

	(void)shared_and(&m->header->waiting_consumers, ~(1ULL << me));
	(void)shared_and(&m->header->waiting_producers, ~(1ULL << me));
	shared_store(&p->word,
		     party_word(party_nth(word), 0, 0, 0, PARTY_FREE));
}

void party_bury(const struct arena_map *m, unsigned dead, uint64_t word)
{
	(void)shared_swap(&m->parties[dead].word,
			  party_word(party_nth(word), 0, 0, 0, PARTY_FREE));
	bell_ring(m, BELL_UNITS);
	bell_ring(m, BELL_ROOM);
}
