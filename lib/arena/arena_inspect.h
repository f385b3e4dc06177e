/* arena_inspect.h - reads the state of an arena from outside, for `roar arena`.
 *
 * The inspecting process does not join: it maps nothing, writes nothing and blocks nobody.
 * The arena changes while it is read, so each word is consistent but the whole is not: the
 * number of units in use may differ from what the counters say. */
#ifndef ROAR_ARENA_INSPECT_H
#define ROAR_ARENA_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <roar/arena.h>

#include "arena/protocol/arena_layout.h"

enum { INSPECT_NO_PARTY = 0xff }; /* no party */

struct inspected_party {
	unsigned place;
	int pid; /* in its own namespace */
	unsigned roles; /* enum roar_arena_role */
	unsigned share; /* of a partition */
	bool dead; /* its units have not been reclaimed yet */
	struct arena_counts counts; /* of all parties that had this place */
};

struct inspected_unit {
	uint32_t index;
	enum arena_unit_state state; /* not UNIT_FREE */
	unsigned owner; /* place of the party that owns it, or INSPECT_NO_PARTY */
	uint64_t holders; /* broadcast: a bit for each place that has not dropped it */
	uint64_t bytes; /* of its buffers */
	uint64_t n_buffers;
	uint64_t tag;
	uint64_t sequence;
	uint64_t generation;
	int64_t age_ns; /* since the last change */
};

struct arena_inspection {
	struct roar_arena_stats stats;
	uint64_t segment_bytes; /* 0: a unit takes what it needs */
	unsigned flags; /* enum roar_arena_flags */
	unsigned n_shares;
	struct inspected_party parties[ARENA_PARTIES];
	size_t n_parties;
	struct inspected_unit *units; /* those in use, by index */
	size_t n_units;
};

/* Reads the arena behind a readable descriptor.  -EINVAL and -EPROTO as
 * roar_arena_attach() returns them, with the sentence in roar_arena_error(); -ENOMEM. */
int arena_inspect(int fd, struct arena_inspection *ret);
void arena_inspection_release(struct arena_inspection *found);

#endif
