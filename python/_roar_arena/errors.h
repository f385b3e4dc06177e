/* errors.h - from errno to the exceptions of roar._errors */
#ifndef ROAR_PYTHON_ERRORS_H
#define ROAR_PYTHON_ERRORS_H

#include "core.h"

struct roar_arena;

enum error_side { ERROR_SENDING, ERROR_RECEIVING, ERROR_OTHER };

/* Raises the exception for `r`, the negative errno of a roar_arena_* call on that side, with the
 * text of roar_arena_error().  `a` provides details of a death; may be NULL.  Returns NULL. */
void *error_raise(struct state *state, const struct roar_arena *a, int r,
		  enum error_side side);

/* Raises the exception `name` of roar._errors with this sentence. */
void *error_say(struct state *state, const char *name, const char *sentence);

#endif
