/* created_names.h - the names that a run has created so far.
 *
 * roar reads the git tree while the command runs; files that the command creates must
 * not count as uncommitted code.  The tracer's thread adds names, and the thread of the
 * git query looks them up; a lock inside protects the set.  A tracer may report a file
 * some time after git saw it, so the lookup may wait.  The set is bounded, because a
 * git query is short. */
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

/* All names were added: created_names_has() need not wait any more. */
void created_names_end(struct created_names *m);

/* Has the run created it, or renamed a directory above it?  With `patient` a negative
 * answer waits for created_names_end(), or for the time in which every tracer reports. */
bool created_names_has(struct created_names *m, const char *path, size_t len,
		       bool patient);

#endif
