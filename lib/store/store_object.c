/* store_object.c - places of object stores that a job used.
 *
 * An object that was not read as a whole has no BLAKE3.  If an earlier record knows
 * the content that had the same ETag at the same place of the same endpoint, then
 * this is the same content: an ETag changes with it. */
#include "store/store_internal.h"

#include <errno.h>
#include <string.h>

#include "event/event.h"

/* A weak ETag may stay when the content changes. */
static bool is_strong(const char *etag)
{
	return etag[0] && strncmp(etag, "W/", 2) != 0;
}

/* The artifact that had this ETag at this place before; 0: not known. */
static int find_content(struct store *s, const struct store_file *file,
			const struct store_object *object, int64_t *ret,
			struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int64_t path_id = 0;
	int r = store_path_find(s, file->path, &path_id, err);

	*ret = 0;
	if (r < 0 || !path_id)
		return r;
	r = statement_open(s, SQL_OBJECT_CONTENT, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, path_id);
	statement_text(&q, object->endpoint);
	statement_text(&q, object->etag);
	return statement_one(&q, 0, ret, err);
}

static int add_row(struct store *s, int64_t job_id, int64_t n,
		   const struct store_object *object, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_OBJECT_ADD, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job_id);
	statement_int(&q, n);
	statement_int(&q, object->pid);
	statement_int(&q, object->n_requests);
	statement_int(&q, object->n_parts);
	statement_text(&q, object->op);
	statement_text(&q, object->endpoint);
	statement_text(&q, object->version);
	statement_text(&q, object->etag);
	statement_text(&q, object->ranges);
	statement_text(&q, object->copy_source);
	return statement_run(&q, err);
}

int store_object_add(struct store *s, const struct store_file *file,
		     const struct store_object *object, struct roar_error *err)
{
	struct store_file row = *file;
	int r = 0;

	row.ftype = EVENT_FTYPE_OBJECT;
	if (!row.artifact_id && !(row.digests.have & DIGEST_SET_BLAKE3) &&
	    is_strong(object->etag))
		r = find_content(s, &row, object, &row.artifact_id, err);
	if (r == 0)
		r = store_file_add(s, &row, err);
	return r < 0 ? r : add_row(s, row.job_id, s->files_n, object, err);
}

/* ---- reading ---- */

static void read_object(struct statement *q, struct pool *pool,
			struct store_object *ret)
{
	ret->n = column_int(q);
	ret->pid = (int32_t)column_int(q);
	ret->n_requests = column_int(q);
	ret->n_parts = column_int(q);
	ret->op = column_text(q, pool);
	ret->endpoint = column_text(q, pool);
	ret->version = column_text(q, pool);
	ret->etag = column_text(q, pool);
	ret->ranges = column_text(q, pool);
	ret->copy_source = column_text(q, pool);
}

int store_objects(struct store *s, struct pool *pool, int64_t job_id,
		  struct store_object **ret, size_t *ret_n,
		  struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = statement_open(s, SQL_OBJECTS, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job_id);
	while ((r = statement_next(&q, err)) > 0) {
		struct store_object *row = rows_push(&rows);

		if (!row)
			return error_set(err, -ENOMEM, "out of memory");
		read_object(&q, pool, row);
	}
	if (r < 0)
		return r;
	*ret = (struct store_object *)rows.data;
	*ret_n = rows.n;
	return 0;
}

const struct store_object *store_object_of(const struct store_object *objects,
					   size_t n, int64_t file_n)
{
	size_t low = 0;
	size_t high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (objects[mid].n < file_n)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && objects[low].n == file_n ? &objects[low] : NULL;
}
