/* arena_inspect.h - a look into an arena from outside, for `roar arena`.
 *
 * The one who looks is no party: nothing is mapped, nothing is written, nobody waits.
 * What is read changes meanwhile, so a look is true word by word, and the sum of
 * its units need not be what the counters say. */
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
	bool dead; /* and what it had is not given back yet */
	struct arena_counts counts; /* of this place, ever */
};

struct inspected_unit {
	uint32_t index;
	enum arena_unit_state state; /* not UNIT_FREE */
	unsigned owner; /* place of who answers for it, or INSPECT_NO_PARTY */
	uint64_t holders; /* broadcast: a bit for each place that has it to come */
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

/* Looks at the arena behind a descriptor that may be read.  -EINVAL and -EPROTO as of
 * roar_arena_attach(), whose sentences roar_arena_error() has; -ENOMEM. */
int arena_inspect(int fd, struct arena_inspection *ret);
void arena_inspection_release(struct arena_inspection *found);

#endif
