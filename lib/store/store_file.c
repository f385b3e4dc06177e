/* store_file.c - the files of jobs; store_file_add.c writes them. */
#include "store/store_internal.h"

#include <errno.h>
#include <string.h>

#include "base/pool.h"
#include "lineage/fold.h"

enum { RESERVE_MAX = 1 << 20 };

static void read_file(struct statement *q, struct pool *pool,
		      struct store_file *ret)
{
	ret->job_id = column_int(q);
	ret->n = column_int(q);
	ret->path = column_text(q, pool);
	ret->role = (uint8_t)column_int(q);
	ret->intermediate = column_int(q) != 0;
	ret->filter = (uint8_t)column_int(q);
	ret->ftype = (uint8_t)column_int(q);
	ret->seen = (uint32_t)column_int(q);
	ret->artifact_id = column_int(q);
	ret->stamp.dev = (uint64_t)column_int(q);
	ret->stamp.ino = (uint64_t)column_int(q);
	ret->stamp.size = (uint64_t)column_int(q);
	ret->stamp.mtime_ns = column_int(q);
	ret->stamp.ctime_ns = column_int(q);
	ret->read_order = column_int(q);
	ret->write_order = column_int(q);
	ret->reader = (int32_t)column_int(q);
	ret->writer = (int32_t)column_int(q);
	ret->bytes_read = column_count(q);
	ret->bytes_written = column_count(q);
	if (column_blob(q, ret->digests.blake3, sizeof(ret->digests.blake3)))
		ret->digests.have = DIGEST_SET_BLAKE3;
	ret->origin = column_text(q, pool);
	ret->etag = column_text(q, pool);
}

/* Reads all rows of a query whose parameters are bound. */
static int read_files(struct statement *q, struct rows *rows,
		      struct store_file **ret, size_t *ret_n,
		      struct roar_error *err)
{
	int r;

	while ((r = statement_next(q, err)) > 0) {
		struct store_file *file = rows_push(rows);

		if (!file)
			return error_set(err, -ENOMEM, "out of memory");
		read_file(q, rows->pool, file);
	}
	if (r < 0)
		return r;
	*ret = (struct store_file *)rows->data;
	*ret_n = rows->n;
	return 0;
}

/* A job or session may have a million files: one allocation of about the right size keeps the
 * growing array from wasting as much again in the pool. */
static int reserve(struct store *s, enum store_sql count, int64_t id,
		   struct rows *rows, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int64_t n = 0;
	int r = statement_open(s, count, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, id);
	r = statement_one(&q, 0, &n, err);
	if (r < 0 || n <= 0)
		return r;
	/* Counts of a record from elsewhere may be wrong. */
	n = n < RESERVE_MAX ? n : RESERVE_MAX;
	rows->data = pool_alloc(rows->pool, (size_t)n * rows->size);
	if (!rows->data)
		return error_set(err, -ENOMEM, "out of memory");
	rows->cap = (size_t)n;
	return 0;
}

int store_files(struct store *s, struct pool *pool, int64_t job_id,
		bool filtered, struct store_file **ret, size_t *ret_n,
		struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = filtered ? reserve(s, SQL_FILE_COUNT, job_id, &rows, err) : 0;

	if (r == 0)
		r = statement_open(s, SQL_FILES_OF_JOB, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, job_id);
	statement_int(&q, filtered);
	return read_files(&q, &rows, ret, ret_n, err);
}

int store_files_walk(struct store *s, int64_t job_id, store_file_visit *visit,
		     void *data, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_FILES_WALK, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job_id);
	while ((r = statement_next(&q, err)) > 0) {
		CLEANUP(pool_release) struct pool pool = POOL_INIT;
		struct store_file file = { 0 };
		struct digests digests = { 0 };

		read_file(&q, &pool, &file);
		column_digests(&q, false, &digests);
		if (file.digests.have) {
			memcpy(digests.blake3, file.digests.blake3, BLAKE3_LEN);
			digests.have |= DIGEST_SET_BLAKE3;
			file.digests = digests;
		}
		r = visit(data, &file, err);
		if (r < 0)
			return r;
	}
	return r;
}

int store_sources(struct store *s, struct pool *pool, int64_t job_id,
		  struct store_file **ret, size_t *ret_n,
		  struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = statement_open(s, SQL_SOURCES_OF_JOB, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job_id);
	return read_files(&q, &rows, ret, ret_n, err);
}

int store_session_files(struct store *s, struct pool *pool, int64_t session_id,
			struct store_file **ret, size_t *ret_n,
			struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = reserve(s, SQL_SESSION_FILE_COUNT, session_id, &rows, err);

	if (r == 0)
		r = statement_open(s, SQL_FILES_OF_SESSION, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, session_id);
	statement_int(&q, LINEAGE_INPUT);
	statement_int(&q, LINEAGE_OUTPUT);
	return read_files(&q, &rows, ret, ret_n, err);
}

int store_artifact_uses(struct store *s, struct pool *pool, int64_t artifact_id,
			struct store_file **ret, size_t *ret_n,
			struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = statement_open(s, SQL_FILES_OF_ARTIFACT, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, artifact_id);
	return read_files(&q, &rows, ret, ret_n, err);
}

int store_path_uses(struct store *s, struct pool *pool, const char *path,
		    struct store_file **ret, size_t *ret_n,
		    struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int64_t path_id = 0;
	int r = store_path_find(s, path, &path_id, err);

	if (r == 0)
		r = statement_open(s, SQL_FILES_OF_PATH, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, path_id);
	return read_files(&q, &rows, ret, ret_n, err);
}

int store_filter_counts(struct store *s, struct pool *pool, int64_t job_id,
			struct store_filter_count **ret, size_t *ret_n,
			struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = statement_open(s, SQL_FILTER_COUNTS, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job_id);
	statement_int(&q, LINEAGE_INPUT);
	while ((r = statement_next(&q, err)) > 0) {
		struct store_filter_count *count = rows_push(&rows);

		if (!count)
			return error_set(err, -ENOMEM, "out of memory");
		count->filter = (uint8_t)column_int(&q);
		count->n_read = column_int(&q);
		count->n_written = column_int(&q);
	}
	if (r < 0)
		return r;
	*ret = (struct store_filter_count *)rows.data;
	*ret_n = rows.n;
	return 0;
}
