/* producer.h - which recorded job made a piece of content.
 *
 * Content is the identity, so a file that was copied or moved by hand still
 * leads to its maker.  Among several makers the one that wrote the same path
 * comes first, then the newest.  Two cases prove nothing, and only the same path
 * counts there: empty content, and a job that wrote the content elsewhere when it
 * was already seen here, for it made a copy.
 *
 * A rename or link reads nothing, so it has no input row; its output row has an
 * origin instead.  It leads to the job that wrote this content under the old
 * name, unless the run wrote it there itself: the usual way to write a file is
 * under another name, with a rename at the end. */
#ifndef ROAR_PRODUCER_H
#define ROAR_PRODUCER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct store_file;
struct store_job;
struct view;

/* The job that made the content of `row` before the job row->job_id used it,
 * in any session.  *ret is NULL when no recorded job did. */
int producer_find(struct view *v, const struct store_file *row,
		  const struct store_job **ret, struct roar_error *err);

/* Is the output `row`, of a job that started then, what an earlier job left in
 * `made`, under another name? */
bool producer_moved(const struct store_file *row, int64_t started_ns,
		    const struct store_file *made);

/* The job that made what the output `row` of `job` was renamed or linked from;
 * NULL when it is new content or no recorded job made it. */
int producer_find_moved(struct view *v, const struct store_file *row,
			const struct store_job *job,
			const struct store_job **ret, struct roar_error *err);

#endif
