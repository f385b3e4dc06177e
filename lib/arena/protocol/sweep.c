/* sweep.c - giving back what a dead party had
 *
 * One party sweeps: the one whose place the word of the dead names.  It may be killed
 * itself, anywhere; then whoever sweeps it goes on with its sweeps, so each step can be
 * done twice.  That is why a sweeper's own place is given up last, and why
 * nothing here depends on a step before it having been made by the same process.
 *
 * The hard question is whether a READY unit of the dead was published.  Its cell says so:
 * all cells are looked at once, and each such unit that is found there gets its position as
 * a mark.  The dead publishes nothing any more, and a unit that is taken meanwhile is
 * not READY any more, so the answer stays right. */
#include "arena/protocol/protocol.h"

#include <errno.h>

static bool is_ready_of(uint64_t word, unsigned party)
{
	return unit_state(word) == UNIT_READY && unit_owner(word) == party;
}

static void mark_published(const struct arena_map *m, unsigned dead)
{
	bool any = false;

	for (uint32_t i = 0; i < m->g.n_units; i++)
		if (is_ready_of(shared_load(&m->units[i].word), dead)) {
			shared_store(&m->units[i].mark, 0);
			any = true;
		}
	for (uint32_t i = 0; any && i < m->g.n_cells; i++) {
		uint64_t cell = shared_load(&m->cells[i]);
		uint64_t unit = cell_index(cell);
		uint64_t word;

		if (unit >= m->g.n_units || !cell_lap(cell))
			continue;
		word = shared_load(&m->units[unit].word);
		if (is_ready_of(word, dead) &&
		    unit_name(unit, word) == cell_name(cell))
			shared_store(&m->units[unit].mark,
				     queue_position(m, i, cell) + 1);
	}
}

/* A unit that the dead answers for.  Was it given back? */
static bool give_back(const struct arena_map *m, unsigned me, unsigned dead,
		      uint32_t unit, uint64_t word)
{
	struct arena_unit *u = &m->units[unit];
	uint64_t mark;

	switch (unit_state(word)) {
	case UNIT_WRITING:
	case UNIT_HELD:
		unit_free(m, me, unit);
		return true;
	case UNIT_CHILD:
		unit_drop_bit(m, me, unit, word, 1ULL << dead);
		return false;
	case UNIT_READY:
		mark = shared_load(&u->mark);
		if (!mark) {
			unit_free(m, me, unit);
			return true;
		}
		if (shared_load(&u->holders) & ARENA_GUARD)
			unit_settle(m, me, unit, mark - 1);
		return false;
	default:
		return false;
	}
}

/* What the dead was to receive, or had received, of a broadcast.  One that nobody holds is of
 * somebody who was killed before he freed it. */
static void drop_hold(const struct arena_map *m, unsigned me, unsigned dead,
		      uint32_t unit)
{
	uint64_t word = shared_load(&m->units[unit].word);
	uint64_t holders = shared_load(&m->units[unit].holders);

	if (unit_state(word) == UNIT_READY && (holders >> dead & 1 || !holders))
		unit_drop_bit(m, me, unit, word, 1ULL << dead);
}

static int give_back_all(const struct arena_map *m, unsigned me, unsigned dead)
{
	bool broadcast = m->g.flags & ROAR_ARENA_BROADCAST;
	int n = 0;

	mark_published(m, dead);
	for (uint32_t i = 0; i < m->g.n_units; i++) {
		uint64_t word = shared_load(&m->units[i].word);

		if (unit_state(word) != UNIT_FREE && unit_owner(word) == dead)
			n += give_back(m, me, dead, i, word);
		if (broadcast)
			drop_hold(m, me, dead, i);
	}
	return n;
}

static int sweep(const struct arena_map *m, unsigned me, unsigned dead,
		 uint64_t word);

/* The sweeps that the dead had begun. */
static int take_over(const struct arena_map *m, unsigned me, unsigned dead)
{
	int n = 0;

	for (unsigned i = 0; i < ARENA_PARTIES; i++) {
		uint64_t word = shared_load(&m->parties[i].word);
		uint64_t mine = party_word(party_nth(word),
					   (uint64_t)party_pid(word), me,
					   party_roles(word), PARTY_SWEEPING);

		if (i != dead && party_state(word) == PARTY_SWEEPING &&
		    party_sweeper(word) == dead &&
		    shared_cas(&m->parties[i].word, word, mine)) {
			n += sweep(m, me, i, mine);
			party_bury(m, i, mine);
		}
	}
	return n;
}

/* All but the place itself. */
static int sweep(const struct arena_map *m, unsigned me, unsigned dead,
		 uint64_t word)
{
	struct arena_header *h = m->header;
	uint64_t bit = 1ULL << dead;
	int n = take_over(m, me, dead);

	(void)shared_and(&h->consumers, ~bit);
	(void)shared_add(&h->departures, 1);
	(void)shared_and(&h->waiting_consumers, ~bit);
	(void)shared_and(&h->waiting_producers, ~bit);
	n += give_back_all(m, me, dead);
	/* The same word from whoever does it: one death is told once. */
	shared_store(&m->parties[dead].died,
		     party_word(party_nth(word), (uint64_t)party_pid(word), 0,
				party_roles(word), PARTY_FREE));
	(void)shared_add(&h->deaths, 1);
	return n;
}

int sweep_party(const struct arena_map *m, unsigned me, unsigned dead,
		uint64_t word)
{
	uint64_t mine = party_word(party_nth(word), (uint64_t)party_pid(word),
				   me, party_roles(word), PARTY_SWEEPING);
	int n;

	if (!shared_cas(&m->parties[dead].word, word, mine))
		return -EALREADY;
	n = sweep(m, me, dead, mine);
	party_bury(m, dead, mine);
	return n;
}

int sweep_inherit(const struct arena_map *m, unsigned place, uint64_t word,
		  int pid, unsigned roles)
{
	uint64_t mine = party_word(party_nth(word) + 1, (uint64_t)pid, 0, roles,
				   PARTY_JOINING);
	int n;

	if (!shared_cas(&m->parties[place].word, word, mine))
		return -EALREADY;
	n = sweep(m, place, place, word);
	if (party_is_clean(m, place))
		return n;
	party_bury(m, place, mine);
	return -EALREADY;
}
