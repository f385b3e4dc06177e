/* created_names.h - the names a run has made so far, for whoever asks meanwhile.
 *
 * The look at the git tree goes on while the command writes; what the command
 * made must not count as uncommitted code.  The tracer's thread adds, the look's
 * thread asks.  A tracer may tell of a file some time after git saw it, so that who
 * asks may have to wait.  The set is bounded: looks are short. */
#ifndef ROAR_RUN_CREATED_NAMES_H
#define ROAR_RUN_CREATED_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct created_names;

int created_names_new(struct created_names **ret_made);
void created_names_free(struct created_names *m);
DEFINE_CLEANUP(struct created_names *, created_names_free)

void created_names_add(struct created_names *m, const char *path, size_t len);

/* All has been told: nobody needs to wait any more. */
void created_names_end(struct created_names *m);

/* Has the run made it, or renamed a folder around it?  With `patient` the answer no is given when all has been told,
 * or after a time in which every tracer tells. */
bool created_names_has(struct created_names *m, const char *path, size_t len,
		       bool patient);

#endif
