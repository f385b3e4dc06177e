/* outline.c - the jobs of a session without their texts.
 *
 * `roar status` looks at all jobs of a session that matter to the graph; command
 * lines, directories and hosts of a thousand jobs would cost more than all the
 * rest of it. */
#include "store/store_internal.h"

#include <errno.h>

#define OUTLINE                                                          \
	"SELECT id, kind = 'build', step, started_ns, "                  \
	"n_inputs + n_outputs AS n_files FROM jobs "                     \
	"WHERE session_id = ?1 AND (n_files > 0 OR id IN (SELECT id "    \
	"FROM (SELECT id, max(attempt) FROM jobs WHERE session_id = ?1 " \
	"GROUP BY kind, step))) ORDER BY id"

int store_session_outline(struct store *s, struct pool *pool,
			  int64_t session_id, struct store_outline **ret,
			  size_t *ret_n, struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = query_prepare(s, OUTLINE, &q, err);

	if (r < 0)
		return r;
	query_int(&q, session_id);
	while ((r = query_next(&q, err)) > 0) {
		struct store_outline *job = rows_push(&rows);

		if (!job)
			return error_set(err, -ENOMEM, "out of memory");
		job->id = column_int(&q);
		job->is_build = column_int(&q) != 0;
		job->step = column_int(&q);
		job->started_ns = column_int(&q);
		job->n_files = column_int(&q);
	}
	if (r < 0)
		return r;
	*ret = (struct store_outline *)rows.data;
	*ret_n = rows.n;
	return 0;
}
