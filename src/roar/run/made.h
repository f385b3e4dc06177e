/* made.h - the names a run has made so far, for whoever asks meanwhile.
 *
 * The look at the git tree goes on while the command writes; what the command
 * made must not count as uncommitted code.  The tracer's thread adds, the look's
 * thread asks.  A tracer may tell of a file some time after git saw it, so that who
 * asks may have to wait.  The set is bounded: looks are short. */
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

/* All has been told: nobody needs to wait any more. */
void made_end(struct made *m);

/* Has the run made it, or renamed a folder around it?  With `patient` the answer no is given when all has been told,
 * or after a time in which every tracer tells. */
bool made_has(struct made *m, const char *path, size_t len, bool patient);

#endif
