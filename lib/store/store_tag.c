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

static int add_history(struct store *s, const struct tag_change *change,
		       struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_TAG_HISTORY_ADD, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, change->tag.job_id);
	statement_int(&q, change->created_ns);
	statement_int(&q, change->removed);
	bind_tag(&q, &change->tag.tag);
	return statement_run(&q, err);
}

static int add_tag(struct store *s, const struct tag_change *change,
		   struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_TAG_ADD, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, change->tag.job_id);
	bind_tag(&q, &change->tag.tag);
	r = statement_run(&q, err);
	if (r < 0 || !sqlite3_changes(s->db))
		return r; /* or it was there */
	r = add_history(s, change, err);
	return r < 0 ? r : 1;
}

/* Each tag that was removed has a row of the history. */
static int remove_tags(struct store *s, const struct tag_change *change,
		       struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	struct tag_change one = *change;
	int n = 0;
	int r = statement_open(s, SQL_TAG_REMOVE, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, change->tag.job_id);
	statement_int(&q, change->tag.tag.action);
	statement_text(&q, change->tag.tag.kind);
	statement_text(&q, change->tag.tag.value);
	while ((r = statement_next(&q, err)) > 0) {
		read_tag(&q, &pool, &one.tag);
		r = add_history(s, &one, err);
		if (r < 0)
			return r;
		n++;
	}
	return r < 0 ? r : n;
}

int store_tag_change(struct store *s, const struct tag_change *change,
		     struct roar_error *err)
{
	struct tag_change dated = *change;
	int r = store_must_write(s, err);

	if (!dated.created_ns)
		dated.created_ns = clock_now_ns();
	if (r < 0)
		return r;
	return change->removed ? remove_tags(s, &dated, err) :
				 add_tag(s, &dated, err);
}

int store_tag_add(struct store *s, int64_t job_id, const struct tag *tag,
		  struct roar_error *err)
{
	return store_tag_change(
		s, &(struct tag_change){ .tag = { job_id, *tag } }, err);
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
