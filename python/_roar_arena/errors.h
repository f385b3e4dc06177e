/* errors.h - from errno to the exceptions of roar._errors */
#ifndef ROAR_PYTHON_ERRORS_H
#define ROAR_PYTHON_ERRORS_H

#include "core.h"

struct roar_arena;

enum error_side { ERROR_SENDING, ERROR_RECEIVING, ERROR_OTHER };

/* Raises what `r`, the negative errno of a call of roar_arena_*, means on that side, with the
 * sentence of roar_arena_error().  `a` tells of deaths; it may be NULL.  Returns NULL. */
void *error_raise(struct state *state, const struct roar_arena *a, int r,
		  enum error_side side);

/* Raises the exception `name` of roar._errors with a sentence of our own. */
void *error_say(struct state *state, const char *name, const char *sentence);

#endif
