/* store_tag.c - tags that jobs put on their outputs, or block. */
#include "store/store_tag.h"

#include <errno.h>

#include "base/clock.h"
#include "base/pool.h"
#include "store/store_internal.h"

static void bind_tag(struct statement *q, const struct tag *tag)
{
	statement_int(q, tag->action);
	statement_text(q, tag->kind);
	statement_text(q, tag->value);
	statement_int(q, tag->origin);
}

static void read_tag(struct statement *q, struct pool *pool,
		     struct job_tag *ret)
{
	ret->job_id = column_int(q);
	ret->tag.action = (uint8_t)column_int(q);
	ret->tag.kind = column_text(q, pool);
	ret->tag.value = column_text(q, pool);
	ret->tag.origin = (uint8_t)column_int(q);
}

int store_tag_history_add(struct store *s, const struct tag_change *change,
			  struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = store_must_write(s, err);

	if (r == 0)
		r = statement_open(s, SQL_TAG_HISTORY_ADD, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, change->tag.job_id);
	statement_int(&q, change->created_ns);
	statement_int(&q, change->removed);
	bind_tag(&q, &change->tag.tag);
	return statement_run(&q, err);
}

int store_tag_add(struct store *s, int64_t job_id, const struct tag *tag,
		  struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct tag_change change = { .created_ns = clock_now_ns(),
				     .tag = { job_id, *tag } };
	int r = store_must_write(s, err);

	if (r == 0)
		r = statement_open(s, SQL_TAG_ADD, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, job_id);
	bind_tag(&q, tag);
	r = statement_run(&q, err);
	if (r < 0 || !sqlite3_changes(s->db))
		return r; /* or it was there */
	r = store_tag_history_add(s, &change, err);
	return r < 0 ? r : 1;
}

int store_tag_remove(struct store *s, int64_t job_id, const struct tag *tag,
		     struct pool *pool, size_t *ret_n, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct tag_change change = { .created_ns = clock_now_ns(),
				     .removed = true };
	size_t n = 0;
	int r = store_must_write(s, err);

	if (r == 0)
		r = statement_open(s, SQL_TAG_REMOVE, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, job_id);
	statement_int(&q, tag->action);
	statement_text(&q, tag->kind);
	statement_text(&q, tag->value);
	while ((r = statement_next(&q, err)) > 0) {
		read_tag(&q, pool, &change.tag);
		r = store_tag_history_add(s, &change, err);
		if (r < 0)
			return r;
		n++;
	}
	if (r == 0)
		*ret_n = n;
	return r;
}

int store_tag_history(struct store *s, struct pool *pool, int64_t job_id,
		      struct tag_change **ret, size_t *ret_n,
		      struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = statement_open(s, SQL_TAG_HISTORY, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job_id);
	while ((r = statement_next(&q, err)) > 0) {
		struct tag_change *row = rows_push(&rows);

		if (!row)
			return error_set(err, -ENOMEM, "out of memory");
		row->created_ns = column_int(&q);
		row->removed = column_int(&q) != 0;
		read_tag(&q, pool, &row->tag);
	}
	if (r < 0)
		return r;
	*ret = (struct tag_change *)rows.data;
	*ret_n = rows.n;
	return 0;
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
		read_tag(&q, pool, row);
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
