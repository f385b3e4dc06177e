/* file.c - the files of jobs.
 *
 * store_file_add() is the hot path of recording a run: two look-ups, at most
 * three inserts, all by statements that are prepared already.  Rows of a job
 * are numbered; the last number is kept in the handle for the length of the
 * transaction, where nobody else can add one. */
#include "store/store_internal.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/pool.h"
#include "lineage/fold.h"

/* The id of an interned path, 0 when it is not known. */
static int find_path(struct store *s, const char *path, int64_t *ret,
		     struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	int r = query_open(s, SQL_PATH_FIND, &q, err);

	if (r < 0)
		return r;
	query_text(&q, path);
	return query_one(&q, 0, ret, err);
}

static int intern_path(struct store *s, const char *path, int64_t *ret,
		       struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	int r = find_path(s, path, ret, err);

	if (r < 0 || *ret)
		return r;
	r = query_open(s, SQL_PATH_ADD, &q, err);
	if (r < 0)
		return r;
	query_text(&q, path);
	r = query_run(&q, err);
	if (r == 0)
		*ret = sqlite3_last_insert_rowid(s->db);
	return r;
}

static int find_artifact(struct store *s, const struct digests *d, int64_t *ret,
			 struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	int r = query_open(s, SQL_ARTIFACT_FIND, &q, err);

	if (r < 0)
		return r;
	query_blob(&q, d->blake3, sizeof(d->blake3));
	return query_one(&q, 0, ret, err);
}

static int add_artifact(struct store *s, const struct store_file *file,
			int64_t *ret, struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	int r = query_open(s, SQL_ARTIFACT_ADD, &q, err);

	if (r < 0)
		return r;
	query_int(&q, (int64_t)file->stamp.size);
	query_int(&q, clock_now_ns());
	query_digests(&q, true, &file->digests);
	r = query_run(&q, err);
	if (r == 0)
		*ret = sqlite3_last_insert_rowid(s->db);
	return r;
}

/* Adds digests that were not taken when the artifact was first seen. */
static int complete_artifact(struct store *s, int64_t id,
			     const struct digests *d, struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	int r;

	if (d->have == DIGEST_SET_BLAKE3)
		return 0;
	r = query_open(s, SQL_ARTIFACT_COMPLETE, &q, err);
	if (r < 0)
		return r;
	query_int(&q, id);
	query_digests(&q, false, d);
	return query_run(&q, err);
}

static int intern_artifact(struct store *s, const struct store_file *file,
			   int64_t *ret, struct roar_error *err)
{
	int r;

	*ret = file->artifact_id;
	if (!(file->digests.have & DIGEST_SET_BLAKE3))
		return 0;
	r = find_artifact(s, &file->digests, ret, err);
	if (r < 0)
		return r;
	if (*ret)
		return complete_artifact(s, *ret, &file->digests, err);
	return add_artifact(s, file, ret, err);
}

/* The number of the next file of a job. */
static int number_file(struct store *s, int64_t job_id, int64_t *ret,
		       struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	int r = 0;

	if (s->files_job != job_id) {
		r = query_open(s, SQL_FILE_LAST, &q, err);
		if (r < 0)
			return r;
		query_int(&q, job_id);
		r = query_one(&q, 0, &s->files_n, err);
		s->files_job = r < 0 ? 0 : job_id;
	}
	*ret = s->files_n + 1;
	return r;
}

static int insert(struct store *s, const struct store_file *file, int64_t n,
		  int64_t path_id, int64_t artifact_id, int64_t origin_id,
		  struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	int r = query_open(s, SQL_FILE_ADD, &q, err);

	if (r < 0)
		return r;
	query_int(&q, file->job_id);
	query_int(&q, n);
	query_int(&q, path_id);
	query_int(&q, file->role);
	query_int(&q, file->intermediate);
	query_int(&q, file->filter);
	query_int(&q, file->ftype);
	query_int(&q, file->seen);
	query_int(&q, (int64_t)file->stamp.dev);
	query_int(&q, (int64_t)file->stamp.ino);
	query_int(&q, (int64_t)file->stamp.size);
	query_int(&q, file->stamp.mtime_ns);
	query_int(&q, file->stamp.ctime_ns);
	query_int(&q, file->read_order);
	query_int(&q, file->write_order);
	query_int(&q, file->reader);
	query_int(&q, file->writer);
	query_int(&q, artifact_id);
	query_int(&q, origin_id);
	return query_run(&q, err);
}

int store_file_add(struct store *s, const struct store_file *file,
		   struct roar_error *err)
{
	int64_t path_id = 0;
	int64_t origin_id = 0;
	int64_t artifact_id = 0;
	int64_t n = 0;
	int r = store_must_write(s, err);

	if (r == 0)
		r = intern_path(s, file->path, &path_id, err);
	if (r == 0 && file->origin && file->origin[0])
		r = intern_path(s, file->origin, &origin_id, err);
	if (r == 0)
		r = intern_artifact(s, file, &artifact_id, err);
	if (r == 0)
		r = number_file(s, file->job_id, &n, err);
	if (r == 0)
		r = insert(s, file, n, path_id, artifact_id, origin_id, err);
	if (r == 0)
		s->files_n = n;
	return r;
}

/* ---- reading ---- */

static void read_file(struct query *q, struct pool *pool,
		      struct store_file *ret)
{
	ret->job_id = column_int(q);
	ret->path = column_text(q, pool);
	ret->role = (uint8_t)column_int(q);
	ret->intermediate = column_int(q) != 0;
	ret->filter = (uint8_t)column_int(q);
	ret->ftype = (uint8_t)column_int(q);
	ret->seen = (uint16_t)column_int(q);
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
	if (column_blob(q, ret->digests.blake3, sizeof(ret->digests.blake3)))
		ret->digests.have = DIGEST_SET_BLAKE3;
	ret->origin = column_text(q, pool);
}

/* Reads all rows of a query whose parameters are bound. */
static int read_files(struct query *q, struct rows *rows,
		      struct store_file **ret, size_t *ret_n,
		      struct roar_error *err)
{
	int r;

	while ((r = query_next(q, err)) > 0) {
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

/* A job may have a million files: one allocation of about the right size keeps
 * the growing array from leaving as much again behind in the pool. */
static int reserve(struct store *s, int64_t job_id, struct rows *rows,
		   struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	int64_t n = 0;
	int r = query_open(s, SQL_FILE_COUNT, &q, err);

	if (r < 0)
		return r;
	query_int(&q, job_id);
	r = query_one(&q, 0, &n, err);
	if (r < 0 || n == 0)
		return r;
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
	CLEANUP(query_close) struct query q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = filtered ? reserve(s, job_id, &rows, err) : 0;

	if (r == 0)
		r = query_open(s, SQL_FILES_OF_JOB, &q, err);
	if (r < 0)
		return r;
	query_int(&q, job_id);
	query_int(&q, filtered);
	return read_files(&q, &rows, ret, ret_n, err);
}

int store_session_files(struct store *s, struct pool *pool, int64_t session_id,
			struct store_file **ret, size_t *ret_n,
			struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = query_open(s, SQL_FILES_OF_SESSION, &q, err);

	if (r < 0)
		return r;
	query_int(&q, session_id);
	query_int(&q, LINEAGE_INPUT);
	query_int(&q, LINEAGE_OUTPUT);
	return read_files(&q, &rows, ret, ret_n, err);
}

int store_artifact_uses(struct store *s, struct pool *pool, int64_t artifact_id,
			struct store_file **ret, size_t *ret_n,
			struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = query_open(s, SQL_FILES_OF_ARTIFACT, &q, err);

	if (r < 0)
		return r;
	query_int(&q, artifact_id);
	return read_files(&q, &rows, ret, ret_n, err);
}

int store_path_uses(struct store *s, struct pool *pool, const char *path,
		    struct store_file **ret, size_t *ret_n,
		    struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int64_t path_id = 0;
	int r = find_path(s, path, &path_id, err);

	if (r == 0)
		r = query_open(s, SQL_FILES_OF_PATH, &q, err);
	if (r < 0)
		return r;
	query_int(&q, path_id);
	return read_files(&q, &rows, ret, ret_n, err);
}

int store_filter_counts(struct store *s, struct pool *pool, int64_t job_id,
			struct store_filter_count **ret, size_t *ret_n,
			struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r = query_open(s, SQL_FILTER_COUNTS, &q, err);

	if (r < 0)
		return r;
	query_int(&q, job_id);
	query_int(&q, LINEAGE_INPUT);
	while ((r = query_next(&q, err)) > 0) {
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
