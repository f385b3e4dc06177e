/* export_selection.h - the jobs that `roar export REF` is about. */
#ifndef ROAR_EXPORT_SELECTION_H
#define ROAR_EXPORT_SELECTION_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "query/target.h"

struct view;

struct export_selection {
	int64_t *jobs; /* ids, ascending, each once; in the view's pool */
	size_t n;
	struct target target; /* that REF named; without REF the active session */
};

/* A session is all its jobs; a job is itself; content is the job that made it last and
 * all jobs that lead to it. */
int export_selection_read(struct view *v, const char *ref,
			  struct export_selection *ret, struct roar_error *err);

#endif
