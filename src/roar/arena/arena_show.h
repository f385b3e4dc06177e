/* arena_show.h - output of `roar arena`, as text and as JSON. */
#ifndef ROAR_ARENA_SHOW_H
#define ROAR_ARENA_SHOW_H

#include "arena/arena_find.h"
#include "arena/arena_inspect.h"
#include "cli/cli.h"

struct json;

/* One arena and its contents. */
struct arena_seen {
	const struct arena_found *found;
	struct arena_inspection look;
	int failed; /* a negative errno: it could not be read */
	char why[256]; /* the reason then */
};

/* "producer", "consumer" or "producer, consumer"; "none". */
const char *arena_roles_word(unsigned roles);

/* "writing", "ready", ...; "unknown" for an invalid state. */
const char *arena_state_word(unsigned state);

/* The member in that slot; NULL: none. */
const struct inspected_party *
arena_party_at(const struct arena_inspection *look, unsigned place);

/* ---- text ---- */

/* A line for each arena, under a heading. */
void arena_text_list(struct str *out, const struct term *t,
		     const struct arena_seen *seen, size_t n);

/* All details of one arena. */
void arena_text_stat(struct str *out, const struct term *t,
		     const struct arena_seen *seen);

/* ---- JSON ---- */

/* An object with its processes, its size and its usage. */
void arena_json_list(struct json *j, const struct arena_seen *seen);

/* The same with members, units and counters. */
void arena_json_stat(struct json *j, const struct arena_seen *seen);

#endif
