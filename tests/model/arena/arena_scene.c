/* arena_scene.c - the stage of arena_scene.h: setting it up, and what must be true. */
#include "arena_scene.h"

#include <stdio.h>
#include <string.h>

#include "arena_scene_internal.h"

_Alignas(4096) unsigned char scene_memory[SCENE_BYTES];
struct arena_map scene_map;
struct notes *const scene_notes = (struct notes *)scene_memory;
const struct scene *scene_now;

enum { ARENA_AT = 4096 };

_Static_assert(sizeof(struct notes) <= ARENA_AT, "notes and arena apart");

/* ---- before ---- */

void scene_setup(const struct explore_case *c)
{
	const struct scene *s = c->arg;
	struct roar_arena_config config = {
		.size_bytes = s->size_bytes,
		.n_units = s->n_units,
		.inline_bytes = 64,
		.flags = s->flags,
	};
	struct arena_geometry g;

	explore_check(geometry_from_config(&config, &g) == 0);
	explore_check(ARENA_AT + g.total_bytes <= SCENE_BYTES);
	geometry_map(&g, scene_memory + ARENA_AT, &scene_map);
	geometry_format(&scene_map, 4096);
	scene_now = s;
	for (unsigned i = 0; i < s->n_actors; i++)
		if (s->actors[i].roles && !s->actors[i].late)
			scene_join(&s->actors[i]);
	for (unsigned i = 0; i < s->n_actors; i++)
		scene_prepare(&s->actors[i]);
}

/* ---- at any time ---- */

/* No position that is still to be taken may be written over. */
void scene_step(const struct explore_case *c)
{
	const struct arena_header *h = scene_map.header;

	(void)c;
	if (!(scene_map.g.flags & ROAR_ARENA_BROADCAST))
		explore_check(h->tail + 1 - h->head <= scene_map.g.n_units + 2);
}

/* ---- after ---- */

static void bury_all(void)
{
	for (unsigned round = 0; round < EXPLORE_MAX_TASKS; round++)
		scene_bury(SCENE_UNDERTAKER);
}

/* What nobody was left to take is still there, and is given back by who takes it. */
static void drain(void)
{
	int64_t unit;

	if (scene_map.g.flags & ROAR_ARENA_BROADCAST)
		return;
	while ((unit = queue_take(&scene_map, SCENE_UNDERTAKER)) >= 0) {
		const struct arena_unit *u = &scene_map.units[unit];

		scene_got(EXPLORE_MAX_TASKS, (unsigned)u->tag);
		unit_drop(&scene_map, SCENE_UNDERTAKER, (uint32_t)unit,
			  unit_generation(u->word));
	}
	explore_check(unit == -EAGAIN);
}

static void check_all_free(void)
{
	const struct arena_map *m = &scene_map;

	for (uint32_t i = 0; i < m->g.n_units; i++) {
		explore_check(unit_state(m->units[i].word) == UNIT_FREE);
		explore_check(m->units[i].holders == 0);
		explore_check(m->units[i].extent == 0);
	}
	for (uint32_t i = 0; i < m->g.n_blocks; i++)
		explore_check(m->owners[i] == 0);
	for (unsigned i = 0; i < ARENA_PARTIES; i++)
		explore_check(party_state(m->parties[i].word) == PARTY_FREE);
	explore_check(m->header->consumers == 0);
}

static unsigned set_of(unsigned task)
{
	unsigned set = 0;

	for (unsigned i = 0; i < scene_notes->n_got[task]; i++)
		set |= 1U << scene_notes->got[task][i];
	return set;
}

/* The first two messages went to one consumer, as far as they were sent. */
static void check_pieces(void)
{
	for (unsigned i = 0; i < EXPLORE_MAX_TASKS; i++)
		explore_check((set_of(i) & 3) == 0 ||
			      (set_of(i) & 3) == (scene_notes->begun & 3) ||
			      scene_has_died(0));
}

/* A consumer that died may have taken one message that it could not note any more. */
static void check_shared_out(unsigned n_dead)
{
	unsigned arrived = 0;

	for (unsigned i = 0; i <= EXPLORE_MAX_TASKS; i++) {
		explore_check((arrived & set_of(i)) == 0);
		arrived |= set_of(i);
	}
	explore_check((unsigned)__builtin_popcount(scene_notes->sent &
						   ~arrived) <= n_dead);
	if (scene_now->actors[0].pieces && !n_dead)
		check_pieces();
}

static void check_broadcast(void)
{
	const struct scene *s = scene_now;

	for (unsigned i = 0; i < s->n_actors; i++) {
		const struct actor *a = &s->actors[i];

		if (a->roles & ROAR_ARENA_CONSUMER && !a->late && !a->heir &&
		    !a->n && !scene_has_died(a->place))
			explore_check((scene_notes->sent & ~set_of(a->place)) ==
				      0);
	}
}

void scene_end(const struct explore_case *c)
{
	const struct scene *s = scene_now;
	unsigned n_dead = 0;

	(void)c;
	for (unsigned i = 0; i < s->n_actors; i++)
		n_dead += s->actors[i].roles & ROAR_ARENA_CONSUMER &&
			  explore_has_died(i);
	bury_all();
	drain();
	check_all_free();
	if (s->flags & ROAR_ARENA_BROADCAST)
		check_broadcast();
	else
		check_shared_out(n_dead);
}

/* ---- names, for traces ---- */

struct field {
	const char *name;
	size_t at;
};

#define FIELD(type, f)                               \
	{                                            \
#f, offsetof(struct arena_##type, f) \
	}

static const struct field header_fields[] = {
	FIELD(header, tail),
	FIELD(header, head),
	FIELD(header, bell_units),
	FIELD(header, waiting_consumers),
	FIELD(header, bell_room),
	FIELD(header, waiting_producers),
	FIELD(header, consumers),
	FIELD(header, departures),
	FIELD(header, shutdown),
	FIELD(header, deaths),
	{ NULL, 0 },
};

static const struct field party_fields[] = {
	FIELD(party, word),   FIELD(party, died), FIELD(party, joined_at),
	FIELD(party, reader), FIELD(party, head), { NULL, 0 },
};

static const struct field unit_fields[] = {
	FIELD(unit, word),   FIELD(unit, holders), FIELD(unit, extent),
	FIELD(unit, parent), FIELD(unit, mark),	   FIELD(unit, flags),
	FIELD(unit, tag),    { NULL, 0 },
};

static const char *field_at(const struct field *fields, size_t at)
{
	while (fields->name && fields->at != at)
		fields++;
	return fields->name ? fields->name : "?";
}

void scene_name_word(const struct explore_case *c, const volatile void *word,
		     char *text, size_t size)
{
	const struct arena_map *m = &scene_map;
	size_t at = (size_t)((const unsigned char *)word - m->base);
	size_t parties = (size_t)((unsigned char *)m->parties - m->base);

	(void)c;
	if (at < parties)
		snprintf(text, size, "%s", field_at(header_fields, at));
	else if (at < m->g.cells_at)
		snprintf(text, size, "party[%zu].%s",
			 (at - parties) / sizeof(struct arena_party),
			 field_at(party_fields,
				  (at - parties) % sizeof(struct arena_party)));
	else if (at < m->g.free_at)
		snprintf(text, size, "cell[%zu]", (at - m->g.cells_at) / 8);
	else if (at < m->g.units_at)
		snprintf(text, size, "free_bits");
	else if (at < m->g.owners_at)
		snprintf(text, size, "unit[%zu].%s",
			 (at - m->g.units_at) / sizeof(struct arena_unit),
			 field_at(unit_fields,
				  (at - m->g.units_at) %
					  sizeof(struct arena_unit)));
	else if (at < m->g.inline_at)
		snprintf(text, size, "owner[%zu]", (at - m->g.owners_at) / 4);
	else
		snprintf(text, size, "room+%zu", at - m->g.inline_at);
}
