/* store_left_out.c - uncommitted files that are not in the snapshot of a job. */
#include "store/store_internal.h"

#include <errno.h>

int store_left_out_add(struct store *s, int64_t job_id,
		       const struct store_left_out *row, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = store_must_write(s, err);

	if (r == 0)
		r = statement_open(s, SQL_LEFT_OUT_ADD, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, job_id);
	statement_text(&q, row->reason);
	statement_text(&q, row->path);
	return statement_run(&q, err);
}

int store_left_out(struct store *s, struct pool *pool, int64_t job_id,
		   struct store_left_out **ret, size_t *ret_n,
		   struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = statement_open(s, SQL_LEFT_OUT, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job_id);
	while ((r = statement_next(&q, err)) > 0) {
		struct store_left_out *row = rows_push(&rows);

		if (!row)
			return error_set(err, -ENOMEM, "out of memory");
		row->reason = column_text(&q, pool);
		row->path = column_text(&q, pool);
	}
	if (r < 0)
		return r;
	*ret = (struct store_left_out *)rows.data;
	*ret_n = rows.n;
	return 0;
}
