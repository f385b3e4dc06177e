/* store_collection.c - collections, their names and their uses. */
#include "store/store_collection.h"

#include <errno.h>

#include "base/clock.h"
#include "base/pool.h"
#include "store/store_internal.h"

const char *collection_kind_name(int kind)
{
	static const char *const names[COLLECTION_KIND_END] = {
		[COLLECTION_PLAIN] = "directory",
		[COLLECTION_FILES] = "files",
		[COLLECTION_CHECKPOINT] = "checkpoint",
		[COLLECTION_WEBDATASET] = "webdataset",
		[COLLECTION_PARQUET] = "parquet",
		[COLLECTION_ZARR] = "zarr",
		[COLLECTION_LANCE] = "lance",
		[COLLECTION_LEROBOT] = "lerobot",
	};

	return kind > 0 && kind < COLLECTION_KIND_END ? names[kind] : "unknown";
}

/* ---- writing ---- */

int store_collection_add(struct store *s, const struct store_collection *c,
			 int64_t *ret_id, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int64_t id = 0;
	int r = store_must_write(s, err);

	if (r == 0)
		r = store_content_intern(s, c->blake3, c->size, &id, err);
	if (r == 0)
		r = statement_open(s, SQL_COLLECTION_ADD, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, id);
	statement_int(&q, c->kind);
	statement_int(&q, c->n_members);
	*ret_id = id;
	return statement_run(&q, err);
}

int store_collection_use_add(struct store *s,
			     const struct store_collection_use *use,
			     struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int64_t path_id = 0;
	int r = store_must_write(s, err);

	if (r == 0)
		r = store_path_intern(s, use->path, &path_id, err);
	if (r == 0)
		r = statement_open(s, SQL_COLLECTION_USE_ADD, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, use->job_id);
	statement_int(&q, use->collection.id);
	statement_int(&q, use->role);
	statement_int(&q, path_id);
	return statement_run(&q, err);
}

/* The collection that a name means; 0: none. */
static int find_named(struct store *s, const char *name, int64_t *ret,
		      struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_COLLECTION_NAMED, &q, err);

	if (r < 0)
		return r;
	statement_text(&q, name);
	return statement_one(&q, 0, ret, err);
}

int store_collection_name_add(struct store *s, int64_t id, const char *name,
			      const char *path, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int64_t path_id = 0;
	int64_t known;
	int r = store_must_write(s, err);

	if (r == 0)
		r = find_named(s, name, &known, err);
	if (r < 0 || known == id)
		return r;
	r = store_path_intern(s, path, &path_id, err);
	if (r == 0)
		r = statement_open(s, SQL_COLLECTION_NAME_ADD, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, id);
	statement_int(&q, clock_now_ns());
	statement_int(&q, path_id);
	statement_text(&q, name);
	r = statement_run(&q, err);
	return r < 0 ? r : 1;
}

/* ---- reading ---- */

/* Reads the columns of COLLECTION_COLUMNS. */
static void read_collection(struct statement *q, struct pool *pool,
			    struct store_collection *c)
{
	c->id = column_int(q);
	c->kind = (int)column_int(q);
	c->n_members = column_int(q);
	c->size = column_int(q);
	c->first_seen_ns = column_int(q);
	(void)column_blob(q, c->blake3, sizeof(c->blake3));
	c->names = column_text(q, pool);
	c->path = column_text(q, pool);
}

int store_collection(struct store *s, struct pool *pool, int64_t id,
		     struct store_collection *ret, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_COLLECTION_GET, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, id);
	r = statement_next(&q, err);
	if (r > 0)
		read_collection(&q, pool, ret);
	return r;
}

int store_collection_named(struct store *s, struct pool *pool, const char *name,
			   struct store_collection *ret, struct roar_error *err)
{
	int64_t id;
	int r = find_named(s, name, &id, err);

	return r < 0 || !id ? r : store_collection(s, pool, id, ret, err);
}

int store_collection_at(struct store *s, struct pool *pool, const char *path,
			struct store_collection *ret, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int64_t path_id;
	int64_t id;
	int r = store_path_find(s, path, &path_id, err);

	if (r < 0 || !path_id)
		return r;
	r = statement_open(s, SQL_COLLECTION_AT, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, path_id);
	r = statement_one(&q, 0, &id, err);
	if (r < 0 || !id)
		return r;
	r = store_collection(s, pool, id, ret, err);
	if (r > 0)
		ret->path = pool_strdup(pool, path);
	if (r > 0 && !ret->path)
		return error_set(err, -ENOMEM, "out of memory");
	return r;
}

int store_collections(struct store *s, struct pool *pool,
		      struct store_collection **ret, size_t *ret_n,
		      struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = statement_open(s, SQL_COLLECTIONS, &q, err);

	if (r < 0)
		return r;
	while ((r = statement_next(&q, err)) > 0) {
		struct store_collection *c = rows_push(&rows);

		if (!c)
			return error_set(err, -ENOMEM, "out of memory");
		read_collection(&q, pool, c);
	}
	if (r < 0)
		return r;
	*ret = (struct store_collection *)rows.data;
	*ret_n = rows.n;
	return 0;
}

static int read_uses(struct store *s, enum store_sql id, int64_t of,
		     struct pool *pool, struct store_collection_use **ret,
		     size_t *ret_n, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = statement_open(s, id, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, of);
	while ((r = statement_next(&q, err)) > 0) {
		struct store_collection_use *use = rows_push(&rows);

		if (!use)
			return error_set(err, -ENOMEM, "out of memory");
		read_collection(&q, pool, &use->collection);
		use->job_id = column_int(&q);
		use->role = (unsigned)column_int(&q);
		use->path = column_text(&q, pool);
	}
	if (r < 0)
		return r;
	*ret = (struct store_collection_use *)rows.data;
	*ret_n = rows.n;
	return 0;
}

int store_collection_uses(struct store *s, struct pool *pool, int64_t id,
			  struct store_collection_use **ret, size_t *ret_n,
			  struct roar_error *err)
{
	return read_uses(s, SQL_COLLECTION_USES, id, pool, ret, ret_n, err);
}

int store_job_collections(struct store *s, struct pool *pool, int64_t job_id,
			  struct store_collection_use **ret, size_t *ret_n,
			  struct roar_error *err)
{
	return read_uses(s, SQL_JOB_COLLECTIONS, job_id, pool, ret, ret_n, err);
}
