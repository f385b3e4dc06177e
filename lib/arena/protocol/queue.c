/* queue.c - one queue of committed units, for any number of producers and consumers.
 *
 * Cells are a ring; position p is in cell p % n_cells and belongs to lap p / n_cells + 1.
 * A cell whose lap is that of a position is published at it; one lap less, and it
 * is not yet.  Only producers write cells, and a cell is written once a lap, by a
 * compare-and-swap: that is the moment of publication.  `tail` and `head` follow: whoever finds
 * them behind moves them, so nobody depends on one that was killed in between.
 *
 * Why no cell is written over before it is read: a position that is still to be taken
 * names a unit that is not free, and every such position another one.  For consumers
 * that share, at most one taken position (that of the head) lies between head and tail,
 * so tail - head <= n_units + 1.  For a consumer of a broadcast, every position after
 * the first that is for it is for it as well, except those of producers that had read the
 * set of consumers before it joined and published afterwards; each of these was a unit that
 * was not free at that moment, so there are no more than n_units.  Together
 * tail - head <= 2 n_units < n_cells.  Positions before the first may be written over; they are
 * not for it, and it skips them. */
#include "arena/protocol/protocol.h"

#include <errno.h>

static uint64_t *cell_at(const struct arena_map *m, uint64_t position)
{
	return &m->cells[position & (m->g.n_cells - 1)];
}

static unsigned lap_of(const struct arena_map *m, uint64_t position)
{
	return (unsigned)((position >> m->g.cell_shift) + 1) & 0xffff;
}

static bool is_broadcast(const struct arena_map *m)
{
	return m->g.flags & ROAR_ARENA_BROADCAST;
}

/* ---- publishing ---- */

int64_t queue_push(const struct arena_map *m, uint32_t unit)
{
	uint64_t name = unit_name(unit, shared_load(&m->units[unit].word));
	uint64_t *tail = &m->header->tail;

	for (;;) {
		uint64_t t = shared_load(tail);
		uint64_t cell = shared_load(cell_at(m, t));
		unsigned lap = lap_of(m, t);

		if (cell_lap(cell) == lap) {
			(void)shared_cas(tail, t, t + 1);
			continue;
		}
		/* Neither this lap nor the one before: we have slept, or the
		 * memory is damaged. */
		if (cell_lap(cell) != ((lap - 1) & 0xffff)) {
			if (shared_load(tail) == t)
				return -EBADMSG;
			continue;
		}
		if (shared_cas(cell_at(m, t), cell,
			       (uint64_t)lap << 48 | name)) {
			(void)shared_cas(tail, t, t + 1);
			return (int64_t)(t & INT64_MAX);
		}
	}
}

uint64_t queue_tail(const struct arena_map *m)
{
	uint64_t *tail = &m->header->tail;

	for (;;) {
		uint64_t t = shared_load(tail);

		if (cell_lap(shared_load(cell_at(m, t))) != lap_of(m, t))
			return t;
		(void)shared_cas(tail, t, t + 1);
	}
}

/* ---- taking, when units are shared out ---- */

static bool hold(const struct arena_map *m, unsigned me, uint64_t index,
		 uint64_t word)
{
	return shared_cas(&m->units[index].word, word,
			  unit_word(unit_generation(word), UNIT_HELD, me));
}

/* All pieces of a message must go to one consumer: to the one that has the first, unless
 * that is gone. */
static bool is_anothers(const struct arena_map *m, unsigned me, uint64_t index)
{
	const struct arena_unit *u = &m->units[index];
	uint64_t flags = shared_load(&u->flags);
	uint64_t producer;
	uint64_t reader;

	if (!(flags & UNIT_PIECE) || flags & UNIT_FIRST)
		return false;
	producer = shared_load(&u->producer);
	if (producer >= ARENA_PARTIES)
		return false;
	reader = shared_load(&m->parties[producer].reader);
	return reader >> 8 == shared_load(&u->message) &&
	       (reader & 0xff) != me &&
	       shared_load(&m->header->consumers) >> (reader & 63) & 1;
}

/* Writes down who holds a first piece.  To be done by whoever moves the head beyond it, before
 * that; who has it may be killed or slow.  A word that is there already is of this
 * message, or of a later one. */
static void note_reader(const struct arena_map *m, uint64_t index,
			uint64_t cell)
{
	const struct arena_unit *u = &m->units[index];
	uint64_t producer;
	uint64_t message;
	uint64_t reader;
	uint64_t word;

	if (!(shared_load(&u->flags) & UNIT_FIRST))
		return;
	producer = shared_load(&u->producer);
	message = shared_load(&u->message);
	if (producer >= ARENA_PARTIES)
		return;
	reader = shared_load(&m->parties[producer].reader);
	word = shared_load(&u->word);
	if (unit_state(word) == UNIT_HELD && reader >> 8 < message &&
	    unit_name(index, word) == cell_name(cell))
		(void)shared_cas(&m->parties[producer].reader, reader,
				 message << 8 | unit_owner(word));
}

static int64_t take_shared(const struct arena_map *m, unsigned me)
{
	uint64_t *head = &m->header->head;

	for (;;) {
		uint64_t h = shared_load(head);
		uint64_t cell = shared_load(cell_at(m, h));
		uint64_t index = cell_index(cell);
		uint64_t word;
		bool there;

		if (cell_lap(cell) != lap_of(m, h)) {
			if (shared_load(head) == h)
				return -EAGAIN;
			continue;
		}
		if (index >= m->g.n_units) {
			(void)shared_cas(head, h, h + 1);
			return -EBADMSG;
		}
		word = shared_load(&m->units[index].word);
		/* If not, another one has taken it and has not moved the head
		 * yet, or was killed before that. */
		there = unit_state(word) == UNIT_READY &&
			unit_name(index, word) == cell_name(cell);
		if (there && is_anothers(m, me, index))
			return -EAGAIN;
		if (there && !hold(m, me, index, word))
			continue;
		note_reader(m, index, cell);
		(void)shared_cas(head, h, h + 1);
		if (there)
			return (int64_t)index;
	}
}

/* ---- taking, when each gets all ---- */

/* Is the unit that the cell names, and no later one in its place, for us? */
static bool is_for(const struct arena_map *m, unsigned me, uint64_t cell)
{
	const struct arena_unit *u = &m->units[cell_index(cell)];
	uint64_t word = shared_load(&u->word);
	uint64_t holders = shared_load(&u->holders);

	return unit_state(word) == UNIT_READY && holders >> me & 1 &&
	       unit_name(cell_index(cell), word) == cell_name(cell) &&
	       shared_load(&u->word) == word;
}

/* The position after all that are known to be written over, when the cell of `h` is
 * `laps` laps ahead: each of these cells has been written again before that one. */
static uint64_t skip_laps(const struct arena_map *m, uint64_t h, unsigned laps)
{
	return h + (uint64_t)(laps - 1) * m->g.n_cells + 1;
}

static int64_t take_broadcast(const struct arena_map *m, unsigned me)
{
	uint64_t *head = &m->parties[me].head;

	for (;;) {
		uint64_t h = shared_load(head);
		uint64_t cell = shared_load(cell_at(m, h));
		unsigned ahead = (cell_lap(cell) - lap_of(m, h)) & 0xffff;
		bool mine;

		if (ahead == 0xffff && shared_load(head) == h)
			return -EAGAIN;
		if (ahead == 0xffff)
			continue;
		if (ahead >= 0x8000 ||
		    (!ahead && cell_index(cell) >= m->g.n_units)) {
			(void)shared_cas(head, h, h + 1);
			return -EBADMSG;
		}
		if (ahead) {
			(void)shared_cas(head, h, skip_laps(m, h, ahead));
			continue;
		}
		mine = is_for(m, me, cell);
		/* The threads of one consumer share it out by this. */
		if (shared_cas(head, h, h + 1) && mine)
			return (int64_t)cell_index(cell);
	}
}

int64_t queue_take(const struct arena_map *m, unsigned me)
{
	return is_broadcast(m) ? take_broadcast(m, me) : take_shared(m, me);
}

uint64_t queue_position(const struct arena_map *m, uint32_t i, uint64_t cell)
{
	uint64_t near = (queue_tail(m) & ~(uint64_t)(m->g.n_cells - 1)) + i;
	int laps = (int16_t)(cell_lap(cell) - lap_of(m, near));

	return near + (uint64_t)((int64_t)laps * m->g.n_cells);
}
