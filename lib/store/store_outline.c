/* store_outline.c - the jobs of a session without their texts.
 *
 * `roar status` reads all jobs of a session that matter to the graph; reading the
 * command lines, directories and hosts of a thousand jobs would cost more than the rest
 * of it. */
#include "store/store_internal.h"

#include <errno.h>
#include <stdlib.h>

/* The latest execution of a step comes first. */
#define OUTLINE                                         \
	"SELECT id, kind = 'build', step, started_ns, " \
	"n_inputs + n_outputs, tracer = 'join' "        \
	"FROM jobs INDEXED BY jobs_step "               \
	"WHERE session_id = ?1 ORDER BY kind, step, attempt DESC"

static bool same_step(const struct store_outline *a,
		      const struct store_outline *b)
{
	return a->step == b->step && a->is_build == b->is_build;
}

static int by_id(const void *a, const void *b)
{
	int64_t x = ((const struct store_outline *)a)->id;
	int64_t y = ((const struct store_outline *)b)->id;

	return (x > y) - (x < y);
}

int store_session_outline(struct store *s, struct pool *pool,
			  int64_t session_id, struct store_outline **ret,
			  size_t *ret_n, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	struct store_outline last = { 0 };
	bool sorted = true;
	int r = statement_prepare(s, OUTLINE, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, session_id);
	while ((r = statement_next(&q, err)) > 0) {
		struct store_outline job;
		struct store_outline *row;

		job.id = column_int(&q);
		job.is_build = column_int(&q) != 0;
		job.step = column_int(&q);
		job.started_ns = column_int(&q);
		job.n_files = column_int(&q);
		job.is_joined = column_int(&q) != 0;
		if (!job.n_files && same_step(&job, &last))
			continue;
		row = rows_push(&rows);
		if (!row)
			return error_set(err, -ENOMEM, "out of memory");
		*row = job;
		sorted = sorted && last.id < job.id;
		last = job;
	}
	if (r < 0)
		return r;
	if (!sorted)
		qsort(rows.data, rows.n, rows.size, by_id);
	*ret = (struct store_outline *)rows.data;
	*ret_n = rows.n;
	return 0;
}
