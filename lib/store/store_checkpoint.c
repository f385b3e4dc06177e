/* store_checkpoint.c - checkpoints that a job committed, and the samples that fed them. */
#include "store/store_internal.h"

#include <errno.h>

int store_checkpoint_add(struct store *s, int64_t job_id,
			 const struct store_checkpoint *row,
			 struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = store_must_write(s, err);

	if (r == 0)
		r = statement_open(s, SQL_CHECKPOINT_ADD, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, job_id);
	statement_int(&q, row->n);
	statement_int(&q, row->pid);
	statement_int(&q, row->step);
	statement_int(&q, row->world_size);
	statement_int(&q, row->committed_ns);
	statement_int(&q, row->n_shards);
	statement_int(&q, row->n_samples);
	statement_blob(&q, row->manifest, sizeof(row->manifest));
	statement_text(&q, row->parent);
	statement_text(&q, row->path);
	return statement_run(&q, err);
}

int store_checkpoint_shard_add(struct store *s, int64_t job_id,
			       int64_t checkpoint,
			       const struct store_shard *row,
			       struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = store_must_write(s, err);

	if (r == 0)
		r = statement_open(s, SQL_CHECKPOINT_SHARD_ADD, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, job_id);
	statement_int(&q, checkpoint);
	statement_int(&q, row->rank);
	statement_int(&q, row->epoch);
	statement_int(&q, row->n_samples);
	statement_text(&q, row->dataset);
	statement_text(&q, row->path);
	return statement_run(&q, err);
}

/* Rows of a statement that is bound. */
static int read_checkpoints(struct statement *q, struct pool *pool,
			    struct store_checkpoint **ret, size_t *ret_n,
			    struct roar_error *err)
{
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r;

	while ((r = statement_next(q, err)) > 0) {
		struct store_checkpoint *row = rows_push(&rows);

		if (!row)
			return error_set(err, -ENOMEM, "out of memory");
		row->job_id = column_int(q);
		row->n = column_int(q);
		row->pid = (int32_t)column_int(q);
		row->step = column_int(q);
		row->world_size = column_int(q);
		row->committed_ns = column_int(q);
		row->n_shards = column_int(q);
		row->n_samples = column_int(q);
		(void)column_blob(q, row->manifest, sizeof(row->manifest));
		row->parent = column_text(q, pool);
		row->path = column_text(q, pool);
	}
	if (r < 0)
		return r;
	*ret = (struct store_checkpoint *)rows.data;
	*ret_n = rows.n;
	return 0;
}

int store_checkpoints_of_path(struct store *s, struct pool *pool,
			      const char *path, struct store_checkpoint **ret,
			      size_t *ret_n, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_CHECKPOINTS_OF_PATH, &q, err);

	if (r < 0)
		return r;
	statement_text(&q, path);
	return read_checkpoints(&q, pool, ret, ret_n, err);
}

int store_checkpoints(struct store *s, struct pool *pool, int64_t job_id,
		      struct store_checkpoint **ret, size_t *ret_n,
		      struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_CHECKPOINTS_OF_JOB, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job_id);
	return read_checkpoints(&q, pool, ret, ret_n, err);
}

static int read_shards(struct store *s, enum store_sql sql, struct pool *pool,
		       const struct store_checkpoint *checkpoint,
		       struct store_shard **ret, size_t *ret_n,
		       struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = statement_open(s, sql, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, checkpoint->job_id);
	statement_int(&q, checkpoint->n);
	while ((r = statement_next(&q, err)) > 0) {
		struct store_shard *row = rows_push(&rows);

		if (!row)
			return error_set(err, -ENOMEM, "out of memory");
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

int store_checkpoint_shards(struct store *s, struct pool *pool,
			    const struct store_checkpoint *checkpoint,
			    struct store_shard **ret, size_t *ret_n,
			    struct roar_error *err)
{
	return read_shards(s, SQL_CHECKPOINT_SHARDS, pool, checkpoint, ret,
			   ret_n, err);
}

int store_checkpoint_shard_rows(struct store *s, struct pool *pool,
				const struct store_checkpoint *checkpoint,
				struct store_shard **ret, size_t *ret_n,
				struct roar_error *err)
{
	return read_shards(s, SQL_CHECKPOINT_SHARD_ROWS, pool, checkpoint, ret,
			   ret_n, err);
}
