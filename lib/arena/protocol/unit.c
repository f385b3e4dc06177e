/* unit.c - the life of a unit: claimed, published or adopted, dropped, freed */
#include "arena/protocol/protocol.h"

#include <errno.h>

/* ---- claiming ---- */

static bool claim(const struct arena_map *m, unsigned me, uint32_t unit)
{
	struct arena_unit *u = &m->units[unit];
	uint64_t word = shared_load(&u->word);

	if (unit_state(word) != UNIT_FREE ||
	    !shared_cas(&u->word, word,
			unit_word(unit_generation(word), UNIT_WRITING, me)))
		return false;
	/* Nothing of the former one may be believed by who sweeps us. */
	shared_store(&u->flags, 0);
	return true;
}

/* The hints of one word that lie in [first, end). */
static uint64_t hints_in(uint64_t bits, uint32_t base, uint32_t first,
			 uint32_t end)
{
	if (base < first)
		bits &= ~0ULL << (first - base);
	if (end - base < 64)
		bits &= (1ULL << (end - base)) - 1;
	return bits;
}

/* The lowest, so that few pages are touched and those stay in the caches. */
static int64_t claim_by_hint(const struct arena_map *m, unsigned me,
			     const struct arena_share *s)
{
	for (uint32_t base = s->first_unit & ~63U; base < s->end_unit;
	     base += 64) {
		uint64_t *word = &m->free_bits[base / 64];
		uint64_t bits;

		while ((bits = hints_in(shared_load(word), base, s->first_unit,
					s->end_unit))) {
			unsigned i = (unsigned)__builtin_ctzll(bits);

			if (shared_and(word, ~(1ULL << i)) >> i & 1 &&
			    claim(m, me, base + i))
				return base + i;
		}
	}
	return -EAGAIN;
}

int64_t unit_claim(const struct arena_map *m, unsigned me, unsigned share,
		   bool thorough)
{
	struct arena_share s = geometry_share(&m->g, share);
	int64_t r = claim_by_hint(m, me, &s);

	/* Who was killed between two words may have lost a hint. */
	for (uint32_t i = s.first_unit; thorough && r < 0 && i < s.end_unit;
	     i++)
		if (claim(m, me, i))
			r = i;
	return r;
}

/* ---- publishing ---- */

/* Takes the bits of consumers away that are gone since `holders` was written, or that are
 * others in the same place which began after this position.  Bits that stay are those of
 * consumers who will still come to it, and of those who depart later and then look. */
static void drop_departed(const struct arena_map *m, uint32_t unit,
			  uint64_t holders, uint64_t position)
{
	uint64_t gone = 0;

	for (uint64_t rest = holders & ~ARENA_GUARD; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);

		if (!(shared_load(&m->header->consumers) >> i & 1) ||
		    shared_load(&m->parties[i].joined_at) > position)
			gone |= 1ULL << i;
	}
	(void)shared_and(&m->units[unit].holders, ~gone);
}

static void free_alone(const struct arena_map *m, uint32_t unit)
{
	struct arena_unit *u = &m->units[unit];
	uint64_t word = shared_load(&u->word);

	if (shared_load(&u->extent))
		block_free(m, unit);
	shared_store(&u->holders, 0);
	(void)shared_swap(&u->word,
			  unit_word(unit_generation(word) + 1, UNIT_FREE, 0));
	(void)shared_or(&m->free_bits[unit / 64], 1ULL << unit % 64);
	bell_ring(m, BELL_ROOM);
}

/* Makes a unit ours if nobody holds it any more, and frees it. */
static void free_if_last(const struct arena_map *m, unsigned me, uint32_t unit,
			 uint64_t word)
{
	struct arena_unit *u = &m->units[unit];

	if (shared_load(&u->holders) != 0 ||
	    !shared_cas(&u->word, word,
			unit_word(unit_generation(word), UNIT_HELD, me)))
		return;
	/* Children have none, whatever their flags say. */
	if (unit_state(word) == UNIT_CHILD)
		free_alone(m, unit);
	else
		unit_free(m, me, unit);
}

void unit_settle(const struct arena_map *m, unsigned me, uint32_t unit,
		 uint64_t position)
{
	struct arena_unit *u = &m->units[unit];
	uint64_t word = shared_load(&u->word);

	drop_departed(m, unit, shared_load(&u->holders), position);
	unit_drop_bit(m, me, unit, word, ARENA_GUARD);
}

static int publish_shared(const struct arena_map *m, unsigned me, uint32_t unit)
{
	struct arena_unit *u = &m->units[unit];
	uint64_t word = shared_load(&u->word);
	uint64_t ready = unit_word(unit_generation(word), UNIT_READY, me);

	shared_store(&u->word, ready);
	if (queue_push(m, unit) < 0) {
		shared_store(&u->word, word);
		return -EBADMSG;
	}
	return 0;
}

/* A consumer that departs takes its bit out of `consumers`, counts, and then looks
 * at all units.  If the count is the same before we read the set and after we published,
 * whoever departs looks at this unit later than that; otherwise we look for it.  GUARD
 * is there before the set is read: while it is, nobody joins in a place that this unit
 * may have the bit of (party.c). */
static int publish_to_all(const struct arena_map *m, unsigned me, uint32_t unit)
{
	struct arena_header *h = m->header;
	struct arena_unit *u = &m->units[unit];
	uint64_t word = shared_load(&u->word);
	uint64_t ready = unit_word(unit_generation(word), UNIT_READY, me);
	uint64_t departures;
	uint64_t consumers;
	int64_t position;

	(void)shared_swap(&u->holders, ARENA_GUARD);
	departures = shared_load(&h->departures);
	consumers = shared_load(&h->consumers) & ~ARENA_GUARD;
	shared_store(&u->holders, consumers | ARENA_GUARD);
	shared_store(&u->word, ready);
	position = queue_push(m, unit);
	if (position < 0) {
		shared_store(&u->holders, 0);
		shared_store(&u->word, word);
		return -EBADMSG;
	}
	if (shared_load(&h->departures) != departures)
		unit_settle(m, me, unit, (uint64_t)position);
	else
		unit_drop_bit(m, me, unit, ready, ARENA_GUARD);
	return 0;
}

int unit_publish(const struct arena_map *m, unsigned me, uint32_t unit)
{
	int r = m->g.flags & ROAR_ARENA_BROADCAST ?
			publish_to_all(m, me, unit) :
			publish_shared(m, me, unit);

	if (r == 0)
		bell_ring(m, BELL_UNITS);
	return r;
}

void unit_adopt(const struct arena_map *m, unsigned me, uint32_t child,
		uint32_t parent)
{
	struct arena_unit *u = &m->units[child];
	uint64_t word = shared_load(&u->word);

	shared_store(&u->parent,
		     unit_name(parent, shared_load(&m->units[parent].word)));
	shared_store(&u->holders, ARENA_GUARD | 1ULL << me);
	shared_store(&u->word,
		     unit_word(unit_generation(word), UNIT_CHILD, me));
}

void unit_disown(const struct arena_map *m, unsigned me, uint32_t child)
{
	struct arena_unit *u = &m->units[child];
	uint64_t word = shared_load(&u->word);

	shared_store(&u->word,
		     unit_word(unit_generation(word), UNIT_WRITING, me));
}

/* ---- dropping ---- */

void unit_drop_bit(const struct arena_map *m, unsigned me, uint32_t unit,
		   uint64_t word, uint64_t bit)
{
	if ((shared_and(&m->units[unit].holders, ~bit) & ~bit) == 0)
		free_if_last(m, me, unit, word);
}

void unit_drop(const struct arena_map *m, unsigned me, uint32_t unit,
	       uint64_t generation)
{
	uint64_t word = shared_load(&m->units[unit].word);

	if (unit_generation(word) != generation)
		return;
	switch (unit_state(word)) {
	case UNIT_WRITING:
	case UNIT_HELD:
		if (unit_owner(word) == me)
			unit_free(m, me, unit);
		break;
	case UNIT_READY:
	case UNIT_CHILD:
		unit_drop_bit(m, me, unit, word, 1ULL << me);
		break;
	}
}

/* The parent's hold of its children.  Done again by a sweep it finds those that are
 * left: the others are of another generation. */
static void free_children(const struct arena_map *m, unsigned me, uint32_t unit)
{
	uint64_t name = unit_name(unit, shared_load(&m->units[unit].word));
	struct arena_meta meta;

	if (unit_meta(m, unit, &meta) < 0)
		return;
	for (uint64_t i = 0; i < meta.n_rows; i++) {
		uint64_t child = shared_load(&meta.rows[i].unit);
		uint64_t word;

		if (child >= m->g.n_units || child == unit)
			continue;
		word = shared_load(&m->units[child].word);
		if (unit_state(word) == UNIT_CHILD &&
		    shared_load(&m->units[child].parent) == name)
			unit_drop_bit(m, me, (uint32_t)child, word,
				      ARENA_GUARD);
	}
}

void unit_free(const struct arena_map *m, unsigned me, uint32_t unit)
{
	if (shared_load(&m->units[unit].flags) & UNIT_PARENT)
		free_children(m, me, unit);
	free_alone(m, unit);
}

/* ---- where its things are ---- */

uint64_t unit_inline_at(const struct arena_map *m, uint32_t unit)
{
	return m->g.inline_at + (uint64_t)unit * m->g.inline_bytes;
}

uint64_t unit_room(const struct arena_map *m, uint32_t unit, uint64_t *ret_len)
{
	uint64_t extent = shared_load(&m->units[unit].extent);
	uint64_t first = extent >> 32;
	uint64_t n = extent & 0xffffffff;

	if (m->g.segment_bytes) {
		*ret_len = m->g.segment_stride;
		return m->g.data_at + unit * m->g.segment_stride;
	}
	if (first > m->g.n_blocks || n > m->g.n_blocks - first)
		n = first = 0;
	*ret_len = n << m->g.block_shift;
	return m->g.data_at + (first << m->g.block_shift);
}

static bool is_in(uint64_t at, uint64_t room, uint64_t offset, uint64_t len)
{
	return offset >= at && offset - at <= room &&
	       len <= room - (offset - at);
}

bool unit_has_range(const struct arena_map *m, uint32_t unit, uint64_t offset,
		    uint64_t len)
{
	uint64_t room;
	uint64_t at = unit_room(m, unit, &room);

	return is_in(at, room, offset, len) ||
	       is_in(unit_inline_at(m, unit), m->g.inline_bytes, offset, len);
}

int unit_meta(const struct arena_map *m, uint32_t unit, struct arena_meta *ret)
{
	const struct arena_unit *u = &m->units[unit];
	uint64_t n = shared_load(&u->n_buffers);
	uint64_t len = shared_load(&u->envelope_len);
	uint64_t room = m->g.inline_bytes;
	uint64_t at = unit_inline_at(m, unit);
	uint64_t table;

	if (shared_load(&u->flags) & UNIT_META_OUTSIDE)
		at = unit_room(m, unit, &room);
	if (n > room / sizeof(struct arena_row))
		return -EBADMSG;
	table = (n * sizeof(struct arena_row) + ROAR_ARENA_ALIGN - 1) /
		ROAR_ARENA_ALIGN * ROAR_ARENA_ALIGN;
	if (table > room || len > room - table)
		return -EBADMSG;
	*ret = (struct arena_meta){
		.rows = (const void *)(m->base + at),
		.n_rows = n,
		.envelope_at = at + table,
		.envelope_len = len,
	};
	return 0;
}
