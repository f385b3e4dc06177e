/* shard.c - shards that processes of a job have consumed. */
#include "store/store_internal.h"

#include <errno.h>

int store_shard_add(struct store *s, int64_t job_id,
		    const struct store_shard *row, struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	int r = store_must_write(s, err);

	if (r == 0)
		r = query_open(s, SQL_SHARD_ADD, &q, err);
	if (r < 0)
		return r;
	query_int(&q, job_id);
	query_int(&q, row->pid);
	query_int(&q, row->rank);
	query_int(&q, row->epoch);
	query_int(&q, row->n_samples);
	query_text(&q, row->dataset);
	query_text(&q, row->path);
	return query_run(&q, err);
}

int store_shards(struct store *s, struct pool *pool, int64_t job_id,
		 struct store_shard **ret, size_t *ret_n,
		 struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = query_open(s, SQL_SHARDS, &q, err);

	if (r < 0)
		return r;
	query_int(&q, job_id);
	while ((r = query_next(&q, err)) > 0) {
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
