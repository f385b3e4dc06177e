/* store_group.c - see store_group.h */
#include "store/store_group.h"

#include <errno.h>

#include "base/json.h"
#include "base/pool.h"
#include "base/str.h"
#include "lineage/tag.h"
#include "store/store_internal.h"

int store_group_add(struct store *s, int64_t job_id,
		    const struct store_group *group, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = store_must_write(s, err);

	if (r == 0)
		r = statement_open(s, SQL_GROUP_ADD, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, job_id);
	statement_count(&q, group->node);
	statement_count(&q, group->n_nodes);
	statement_text(&q, group->id);
	return statement_run(&q, err);
}

int store_group(struct store *s, struct pool *pool, int64_t job_id,
		struct store_group *ret, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_GROUP, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job_id);
	r = statement_next(&q, err);
	if (r < 0)
		return r;
	*ret = (struct store_group){ .id = "", .node = -1, .n_nodes = -1 };
	if (r > 0) {
		ret->node = column_count(&q);
		ret->n_nodes = column_count(&q);
		ret->id = column_text(&q, pool);
	}
	return 0;
}

/* Ids of a statement that is bound. */
static int read_ids(struct statement *q, struct pool *pool, int64_t **ret,
		    size_t *ret_n, struct roar_error *err)
{
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r;

	while ((r = statement_next(q, err)) > 0) {
		int64_t *id = rows_push(&rows);

		if (!id)
			return error_set(err, -ENOMEM, "out of memory");
		*id = column_int(q);
	}
	if (r < 0)
		return r;
	*ret = (int64_t *)rows.data;
	*ret_n = rows.n;
	return 0;
}

int store_group_parts(struct store *s, struct pool *pool, const char *id,
		      int64_t **ret_jobs, size_t *ret_n, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_GROUP_PARTS, &q, err);

	if (r < 0)
		return r;
	statement_text(&q, id);
	return read_ids(&q, pool, ret_jobs, ret_n, err);
}

int store_parts(struct store *s, struct pool *pool, int64_t job_id,
		int64_t **ret_jobs, size_t *ret_n, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_PARTS, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job_id);
	return read_ids(&q, pool, ret_jobs, ret_n, err);
}

int store_part_add(struct store *s, int64_t job_id, int64_t part_id,
		   struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = store_must_write(s, err);

	if (r == 0)
		r = statement_open(s, SQL_PART_ADD, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, job_id);
	statement_int(&q, part_id);
	return statement_run(&q, err);
}

/* ---- joining ---- */

/* The numbers as a JSON array, which the statements read as a table. */
static int list_ids(const int64_t *ids, size_t n, struct str *ret,
		    struct roar_error *err)
{
	struct json j = json_writer(ret, false);

	json_put_array(&j);
	for (size_t i = 0; i < n; i++)
		json_put_int(&j, ids[i]);
	json_end(&j);
	return str_error(ret) < 0 ? error_set(err, -ENOMEM, "out of memory") :
				    0;
}

static int count_files(struct store *s, const char *parts,
		       struct store_job *job, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_JOIN_COUNT, &q, err);

	if (r < 0)
		return r;
	statement_text(&q, parts);
	r = statement_next(&q, err);
	if (r < 0)
		return r;
	job->n_inputs = column_int(&q);
	job->n_outputs = column_int(&q);
	return 0;
}

static int copy_rows(struct store *s, enum store_sql sql, const char *parts,
		     int64_t job_id, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, sql, &q, err);

	if (r < 0)
		return r;
	statement_text(&q, parts);
	statement_int(&q, job_id);
	return statement_run(&q, err);
}

static int copy_tags(struct store *s, int64_t part, int64_t job_id,
		     struct roar_error *err)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	struct job_tag *tags;
	size_t n;
	int r = store_tags(s, &pool, part, &tags, &n, err);

	for (size_t i = 0; r >= 0 && i < n; i++)
		r = store_tag_add(s, job_id, &tags[i].tag, err);
	return r;
}

int store_join(struct store *s, struct store_job *job,
	       const struct store_group *group, const int64_t *parts, size_t n,
	       struct roar_error *err)
{
	CLEANUP(str_release) struct str list = STR_INIT;
	int r = list_ids(parts, n, &list, err);

	if (r == 0)
		r = count_files(s, str_cstr(&list), job, err);
	if (r == 0)
		r = store_job_add(s, job, err);
	if (r == 0)
		r = store_group_add(s, job->id, group, err);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = store_part_add(s, job->id, parts[i], err);
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = copy_tags(s, parts[i], job->id, err);
	if (r >= 0)
		r = copy_rows(s, SQL_JOIN_FILES, str_cstr(&list), job->id, err);
	if (r == 0)
		r = copy_rows(s, SQL_JOIN_SHARDS, str_cstr(&list), job->id,
			      err);
	return r;
}
