/* made.h - the names a run has made so far, for whoever asks meanwhile.
 *
 * The look at the git tree goes on while the command writes; what the command
 * made must not count as uncommitted code.  The tracer's thread adds, the look's
 * thread asks.  The set is bounded: looks are short. */
#ifndef ROAR_RUN_MADE_H
#define ROAR_RUN_MADE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct made;

int made_new(struct made **ret_made);
void made_free(struct made *m);
DEFINE_CLEANUP(struct made *, made_free)

void made_add(struct made *m, const char *path, size_t len);

/* The form git_options.is_made wants; ctx is the set. */
bool made_has(void *ctx, const char *path, size_t len);

#endif
