/* producer.h - which recorded job made a piece of content.
 *
 * Content is the identity, so a file that was copied or moved by hand still
 * leads to its maker.  Among several makers the one that wrote the same path
 * comes first, then the newest.  Two cases prove nothing, and only the same path
 * counts there: empty content, and a job that wrote the content elsewhere when it
 * was already seen here, for it made a copy. */
#ifndef ROAR_PRODUCER_H
#define ROAR_PRODUCER_H

#include <stdint.h>

#include "base/error.h"

struct store_file;
struct store_job;
struct view;

/* The job that made the content of `row` before the job row->job_id used it,
 * in any session.  *ret is NULL when no recorded job did. */
int producer_find(struct view *v, const struct store_file *row,
		  const struct store_job **ret, struct roar_error *err);

#endif
