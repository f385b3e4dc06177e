/* store_shard.c - shards that processes of a job have consumed. */
#include "store/store_internal.h"

#include <errno.h>

int store_shard_add(struct store *s, int64_t job_id,
		    const struct store_shard *row, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = store_must_write(s, err);

	if (r == 0)
		r = statement_open(s, SQL_SHARD_ADD, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, job_id);
	statement_int(&q, row->pid);
	statement_int(&q, row->rank);
	statement_int(&q, row->epoch);
	statement_int(&q, row->n_samples);
	statement_text(&q, row->dataset);
	statement_text(&q, row->path);
	return statement_run(&q, err);
}

int store_shards(struct store *s, struct pool *pool, int64_t job_id,
		 struct store_shard **ret, size_t *ret_n,
		 struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = statement_open(s, SQL_SHARDS, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job_id);
	while ((r = statement_next(&q, err)) > 0) {
		struct store_shard *row = rows_push(&rows);

		if (!row)
			return error_set(err, -ENOMEM, "out of memory");
		row->pid = (int32_t)column_int(&q);
		row->rank = column_int(&q);
		row->epoch = column_int(&q);
		row->n_samples = column_int(&q);
		row->dataset = column_text(&q, pool);
		row->path = column_text(&q, pool);
	}
	if (r < 0)
		return r;
	*ret = (struct store_shard *)rows.data;
	*ret_n = rows.n;
	return 0;
}
