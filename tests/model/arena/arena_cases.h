/* arena_cases.h - the scenes that are explored. */
#ifndef TESTS_EXPLORE_ARENA_CASES_H
#define TESTS_EXPLORE_ARENA_CASES_H

#include "explore.h"

struct arena_case {
	struct explore_case explore;
	unsigned everyday; /* preemptions, where those of the case take too long */
	bool crowd; /* too large to try all: for chance alone */
};

extern const struct arena_case arena_cases[];
extern const unsigned n_arena_cases;

#endif
