/* store_label.c - see store_label.h */
#include "store/store_label.h"

#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "store/store_internal.h"

/* Each entity has a column of its own, and so its own statements. */
static const struct {
	enum store_sql add, history, current;
} sql[LABEL_ENTITY_END] = {
	[LABEL_SESSION] = { SQL_LABEL_SESSION_ADD, SQL_LABEL_SESSION_HISTORY,
			    SQL_LABEL_SESSIONS },
	[LABEL_JOB] = { SQL_LABEL_JOB_ADD, SQL_LABEL_JOB_HISTORY,
			SQL_LABEL_JOBS },
	[LABEL_ARTIFACT] = { SQL_LABEL_ARTIFACT_ADD, SQL_LABEL_ARTIFACT_HISTORY,
			     SQL_LABEL_ARTIFACTS },
};

static void read_label(struct statement *q, struct pool *pool,
		       struct store_label *ret)
{
	ret->entity_id = column_int(q);
	ret->version = column_int(q);
	ret->created_ns = column_int(q);
	ret->origin = (int)column_int(q);
	ret->document = column_text(q, pool);
}

/* Rows of a statement that is bound, oldest first. */
static int read_labels(struct statement *q, struct pool *pool,
		       struct store_label **ret, size_t *ret_n,
		       struct roar_error *err)
{
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r;

	while ((r = statement_next(q, err)) > 0) {
		struct store_label *label = rows_push(&rows);

		if (!label)
			return error_set(err, -ENOMEM, "out of memory");
		read_label(q, pool, label);
	}
	if (r < 0)
		return r;
	*ret = (struct store_label *)rows.data;
	*ret_n = rows.n;
	return 0;
}

/* The versions of one entity, newest first, at most `limit` of them. */
static int open_history(struct store *s, enum label_entity entity,
			int64_t entity_id, int64_t limit, struct statement *q,
			struct roar_error *err)
{
	int r;

	assert(entity < LABEL_ENTITY_END);
	r = statement_open(s, sql[entity].history, q, err);
	if (r < 0)
		return r;
	statement_int(q, entity_id);
	statement_int(q, limit);
	return 0;
}

int store_label(struct store *s, struct pool *pool, enum label_entity entity,
		int64_t entity_id, struct store_label *ret,
		struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = open_history(s, entity, entity_id, 1, &q, err);

	if (r == 0)
		r = statement_next(&q, err);
	if (r < 0)
		return r;
	*ret = (struct store_label){ .entity_id = entity_id, .document = "{}" };
	if (r > 0)
		read_label(&q, pool, ret);
	return 0;
}

int store_label_history(struct store *s, struct pool *pool,
			enum label_entity entity, int64_t entity_id,
			struct store_label **ret, size_t *ret_n,
			struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct store_label *labels;
	size_t n;
	int r = open_history(s, entity, entity_id, INT64_MAX, &q, err);

	if (r == 0)
		r = read_labels(&q, pool, &labels, &n, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n / 2; i++) {
		struct store_label label = labels[i];

		labels[i] = labels[n - 1 - i];
		labels[n - 1 - i] = label;
	}
	*ret = labels;
	*ret_n = n;
	return 0;
}

int store_labels_current(struct store *s, struct pool *pool,
			 enum label_entity entity, struct store_label **ret,
			 size_t *ret_n, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r;

	assert(entity < LABEL_ENTITY_END);
	r = statement_open(s, sql[entity].current, &q, err);
	return r < 0 ? r : read_labels(&q, pool, ret, ret_n, err);
}

static int last_version(struct store *s, enum label_entity entity,
			int64_t entity_id, int64_t *ret, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = open_history(s, entity, entity_id, 1, &q, err);

	if (r == 0)
		r = statement_next(&q, err);
	if (r < 0)
		return r;
	q.column = 1; /* after the entity */
	*ret = r ? column_int(&q) : 0;
	return 0;
}

int store_label_add(struct store *s, enum label_entity entity,
		    const struct store_label *label, int64_t *ret_version,
		    struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int64_t version = 0;
	int r = store_must_write(s, err);

	if (r == 0)
		r = last_version(s, entity, label->entity_id, &version, err);
	if (r == 0)
		r = statement_open(s, sql[entity].add, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, label->entity_id);
	statement_int(&q, version + 1);
	statement_int(&q,
		      label->created_ns ? label->created_ns : clock_now_ns());
	statement_int(&q, label->origin);
	statement_text(&q, label->document);
	r = statement_run(&q, err);
	if (r == 0)
		*ret_version = version + 1;
	return r;
}
