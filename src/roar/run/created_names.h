/* created_names.h - the names that a run has created so far.
 *
 * roar looks at the git tree while the command runs; files that the command creates
 * must not count as uncommitted code.  The tracer's thread adds names, the thread that
 * looks at git asks.  A tracer may report a file some time after git saw it, so the
 * question may wait.  The set is bounded, because looking at git takes little time. */
#ifndef ROAR_RUN_CREATED_NAMES_H
#define ROAR_RUN_CREATED_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct created_names;

int created_names_new(struct created_names **ret_names);
void created_names_free(struct created_names *m);
DEFINE_CLEANUP(struct created_names *, created_names_free)

void created_names_add(struct created_names *m, const char *path, size_t len);

/* All names have been added: created_names_has() need not wait any more. */
void created_names_end(struct created_names *m);

/* Has the run created it, or renamed a directory above it?  With `patient` the answer no
 * waits for created_names_end(), or for the time in which every tracer reports. */
bool created_names_has(struct created_names *m, const char *path, size_t len,
		       bool patient);

#endif
