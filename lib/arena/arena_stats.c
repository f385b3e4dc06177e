/* arena_stats.c - what an arena has moved, and what is in it now */
#include "arena/arena_stats.h"

#include <stdio.h>

#include "arena/arena.h"

static void add_counts(const struct arena_counts *c, struct roar_arena_stats *s)
{
	s->committed += shared_load(&c->committed);
	s->committed_bytes += shared_load(&c->committed_bytes);
	s->received += shared_load(&c->received);
	s->released += shared_load(&c->released);
	s->in_pieces += shared_load(&c->in_pieces);
	s->reclaimed += shared_load(&c->reclaimed);
	s->producer_stalls += shared_load(&c->producer_stalls);
	s->producer_stall_ns += shared_load(&c->producer_stall_ns);
	s->consumer_stalls += shared_load(&c->consumer_stalls);
	s->consumer_stall_ns += shared_load(&c->consumer_stall_ns);
}

static void add_party(const struct arena_party *p, struct roar_arena_stats *s)
{
	uint64_t word = shared_load(&p->word);

	add_counts(&p->counts, s);
	if (party_state(word) != PARTY_ALIVE)
		return;
	s->n_producers += (party_roles(word) & ROAR_ARENA_PRODUCER) != 0;
	s->n_consumers += (party_roles(word) & ROAR_ARENA_CONSUMER) != 0;
}

uint64_t stats_unit_bytes(const struct arena_map *m, uint32_t unit)
{
	uint64_t room;

	(void)unit_room(m, unit, &room);
	return room;
}

void stats_read(const struct arena_map *m, struct roar_arena_stats *ret)
{
	struct roar_arena_stats s = {
		.size_bytes = m->g.size_bytes,
		.n_units = m->g.n_units,
		.page_bytes = m->header->page_bytes,
		.shut_down = shared_load32(&m->header->shutdown) != 0,
	};

	for (unsigned i = 0; i < ARENA_PARTIES; i++)
		add_party(&m->parties[i], &s);
	for (uint32_t i = 0; i < m->g.n_units; i++)
		if (unit_state(shared_load(&m->units[i].word)) != UNIT_FREE) {
			s.n_used++;
			s.used_bytes += stats_unit_bytes(m, i);
		}
	*ret = s;
}

/* The process that holds the most units; 0: none. */
static int greatest_holder(const struct arena_map *m, const uint32_t *held)
{
	unsigned most = 0;

	for (unsigned i = 1; i < ARENA_PARTIES; i++)
		if (held[i] > held[most])
			most = i;
	return held[most] ? party_pid(shared_load(&m->parties[most].word)) : 0;
}

void stats_describe(const struct arena_map *m, char *text, size_t size)
{
	uint32_t n[UNIT_CHILD + 1] = { 0 };
	uint32_t held[ARENA_PARTIES] = { 0 };
	int pid;

	for (uint32_t i = 0; i < m->g.n_units; i++) {
		uint64_t word = shared_load(&m->units[i].word);

		if (unit_state(word) <= UNIT_CHILD)
			n[unit_state(word)]++;
		if (unit_state(word) == UNIT_HELD &&
		    unit_owner(word) < ARENA_PARTIES)
			held[unit_owner(word)]++;
	}
	pid = greatest_holder(m, held);
	(void)snprintf(
		text, size,
		"of %u units %u are being written, %u are not released by all consumers yet",
		m->g.n_units, n[UNIT_WRITING] + n[UNIT_CHILD],
		n[UNIT_READY] + n[UNIT_HELD]);
	if (pid)
		(void)snprintf(
			text, size,
			"of %u units %u are being written, %u wait to be received, %u are held, most by process %d",
			m->g.n_units, n[UNIT_WRITING] + n[UNIT_CHILD],
			n[UNIT_READY], n[UNIT_HELD], pid);
}

API int roar_arena_stats(const struct roar_arena *a,
			 struct roar_arena_stats *ret)
{
	stats_read(&a->map, ret);
	return 0;
}
