/* arena_show.h - what `roar arena` has found, as text and as JSON. */
#ifndef ROAR_ARENA_SHOW_H
#define ROAR_ARENA_SHOW_H

#include "arena/arena_find.h"
#include "arena/arena_inspect.h"
#include "cli/cli.h"

struct json;

/* One arena and what a look into it told. */
struct arena_seen {
	const struct arena_found *found;
	struct arena_inspection look;
	int failed; /* a negative errno: it could not be looked into */
	char why[256]; /* then */
};

/* "producer", "consumer" or "producer, consumer"; "none". */
const char *arena_roles_word(unsigned roles);

/* "writing", "ready", ...; "unknown" for a state that is none. */
const char *arena_state_word(unsigned state);

/* The party in that place, NULL when there is none. */
const struct inspected_party *
arena_party_at(const struct arena_inspection *look, unsigned place);

/* ---- text ---- */

/* A line for each arena, under a heading. */
void arena_text_list(struct str *out, const struct term *t,
		     const struct arena_seen *seen, size_t n);

/* All of one arena. */
void arena_text_stat(struct str *out, const struct term *t,
		     const struct arena_seen *seen);

/* ---- JSON ---- */

/* An object: where it is, who has it, how large and full it is. */
void arena_json_list(struct json *j, const struct arena_seen *seen);

/* The same with parties, units and counters. */
void arena_json_stat(struct json *j, const struct arena_seen *seen);

#endif
