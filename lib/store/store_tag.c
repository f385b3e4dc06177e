/* store_tag.c - tags that jobs put on their outputs, or block. */
#include "store/store_internal.h"

#include <errno.h>

#include "lineage/tag.h"

int store_tag_add(struct store *s, int64_t job_id, const struct tag *tag,
		  struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = store_must_write(s, err);

	if (r == 0)
		r = statement_open(s, SQL_TAG_ADD, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, job_id);
	statement_int(&q, tag->action);
	statement_text(&q, tag->kind);
	statement_text(&q, tag->value);
	statement_int(&q, tag->origin);
	return statement_run(&q, err);
}

static int read_tags(struct store *s, enum store_sql sql, int64_t id,
		     struct pool *pool, struct job_tag **ret, size_t *ret_n,
		     struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = statement_open(s, sql, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, id);
	while ((r = statement_next(&q, err)) > 0) {
		struct job_tag *row = rows_push(&rows);

		if (!row)
			return error_set(err, -ENOMEM, "out of memory");
		row->job_id = column_int(&q);
		row->tag.action = (uint8_t)column_int(&q);
		row->tag.kind = column_text(&q, pool);
		row->tag.value = column_text(&q, pool);
		row->tag.origin = (uint8_t)column_int(&q);
	}
	if (r < 0)
		return r;
	*ret = (struct job_tag *)rows.data;
	*ret_n = rows.n;
	return 0;
}

int store_tags(struct store *s, struct pool *pool, int64_t job_id,
	       struct job_tag **ret, size_t *ret_n, struct roar_error *err)
{
	return read_tags(s, SQL_TAGS_OF_JOB, job_id, pool, ret, ret_n, err);
}

int store_session_tags(struct store *s, struct pool *pool, int64_t session_id,
		       struct job_tag **ret, size_t *ret_n,
		       struct roar_error *err)
{
	return read_tags(s, SQL_TAGS_OF_SESSION, session_id, pool, ret, ret_n,
			 err);
}
