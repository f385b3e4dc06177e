/* store_file_add.c - recording the files of a job.
 *
 * store_file_add() is the hot path of recording a run: it uses prepared statements, and
 * as few as possible.  A path or an artifact is either looked up first, or added first,
 * which also finds an existing one.  New and known ones come in long sequences, so the
 * result for the last one decides which is tried first.
 *
 * The row of the file itself is buffered until STORE_FILE_BATCH rows are inserted by
 * one statement: opening and closing the table and its indexes costs a third of an
 * insert.  The buffer is invisible, because any statement but those of this path writes
 * it first (statement_open()), and so does the commit.
 *
 * Rows of a job are numbered; the last number is kept in the handle for the length of
 * the transaction, in which no other connection can add one. */
#include "store/store_internal.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"

int store_path_find(struct store *s, const char *path, int64_t *ret,
		    struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_PATH_FIND, &q, err);

	if (r < 0)
		return r;
	statement_text(&q, path);
	return statement_one(&q, 0, ret, err);
}

/* Closes a query that inserts unless the row is there.  The id of the new row,
 * or 0. */
static int run_insert(struct statement *q, int64_t *ret, struct roar_error *err)
{
	sqlite3 *db = q->s->db;
	int r = statement_run(q, err);

	if (r == 0)
		*ret = sqlite3_changes(db) ? sqlite3_last_insert_rowid(db) : 0;
	return r;
}

static int add_path(struct store *s, const char *path, int64_t *ret,
		    struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_PATH_ADD, &q, err);

	if (r < 0)
		return r;
	statement_text(&q, path);
	return run_insert(&q, ret, err);
}

int store_path_intern(struct store *s, const char *path, int64_t *ret,
		      struct roar_error *err)
{
	int r = 0;

	*ret = 0;
	if (s->path_was_new)
		r = add_path(s, path, ret, err);
	if (r < 0 || *ret)
		return r;
	r = store_path_find(s, path, ret, err);
	s->path_was_new = r == 0 && !*ret;
	return s->path_was_new ? add_path(s, path, ret, err) : r;
}

static int find_artifact(struct store *s, const struct digests *d, int64_t *ret,
			 struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_ARTIFACT_FIND, &q, err);

	if (r < 0)
		return r;
	statement_blob(&q, d->blake3, sizeof(d->blake3));
	return statement_one(&q, 0, ret, err);
}

static int add_artifact(struct store *s, const struct store_file *file,
			int64_t *ret, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_ARTIFACT_ADD, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, (int64_t)file->stamp.size);
	statement_int(&q, clock_now_ns());
	statement_digests(&q, true, &file->digests);
	return run_insert(&q, ret, err);
}

/* Adds digests that were not taken when the artifact was first seen. */
static int complete_artifact(struct store *s, int64_t id,
			     const struct digests *d, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r;

	if (d->have == DIGEST_SET_BLAKE3)
		return 0;
	r = statement_open(s, SQL_ARTIFACT_COMPLETE, &q, err);
	if (r < 0)
		return r;
	statement_int(&q, id);
	statement_digests(&q, false, d);
	return statement_run(&q, err);
}

static int intern_artifact(struct store *s, const struct store_file *file,
			   int64_t *ret, struct roar_error *err)
{
	int r = 0;

	*ret = file->artifact_id;
	if (!(file->digests.have & DIGEST_SET_BLAKE3))
		return 0;
	*ret = 0;
	if (s->artifact_was_new)
		r = add_artifact(s, file, ret, err);
	if (r < 0 || *ret)
		return r;
	r = find_artifact(s, &file->digests, ret, err);
	if (r < 0)
		return r;
	s->artifact_was_new = !*ret;
	if (*ret)
		return complete_artifact(s, *ret, &file->digests, err);
	return add_artifact(s, file, ret, err);
}

int store_content_intern(struct store *s, const uint8_t blake3[BLAKE3_LEN],
			 int64_t size, int64_t *ret, struct roar_error *err)
{
	struct store_file file = {
		.stamp = { .size = (uint64_t)size },
		.digests = { .have = DIGEST_SET_BLAKE3 },
	};

	memcpy(file.digests.blake3, blake3, BLAKE3_LEN);
	return intern_artifact(s, &file, ret, err);
}

/* The number of the next file of a job, which must exist. */
static int number_file(struct store *s, int64_t job_id, int64_t *ret,
		       struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = 0;

	if (s->files_job != job_id) {
		r = statement_open(s, SQL_FILE_LAST, &q, err);
		if (r < 0)
			return r;
		statement_int(&q, job_id);
		r = statement_one(&q, -1, &s->files_n, err);
		if (r == 0 && s->files_n < 0)
			r = store_failure(s->path, SQLITE_CONSTRAINT, 0,
					  "a file of a job that is not there",
					  err);
		s->files_job = r < 0 ? 0 : job_id;
	}
	*ret = s->files_n + 1;
	return r;
}

/* ---- rows, several by one statement ---- */

/* In the order of the columns of SQL_FILE_ADD.  In the last ones, 0 means no row and is
 * stored as NULL, and so is a negative number of bytes. */
static void fill(int64_t row[STORE_FILE_COLUMNS], const struct store_file *file,
		 int64_t n, int64_t path_id, int64_t artifact_id,
		 int64_t origin_id)
{
	const struct stamp *stamp = &file->stamp;
	const int64_t values[STORE_FILE_COLUMNS] = {
		file->job_id,
		n,
		path_id,
		file->role,
		file->intermediate,
		file->filter,
		file->ftype,
		file->seen,
		(int64_t)stamp->dev,
		(int64_t)stamp->ino,
		(int64_t)stamp->size,
		stamp->mtime_ns,
		stamp->ctime_ns,
		file->read_order,
		file->write_order,
		file->reader,
		file->writer,
		artifact_id,
		origin_id,
		file->bytes_read,
		file->bytes_written,
	};

	memcpy(row, values, sizeof(values));
}

static int insert(struct store *s, enum store_sql id, int first, int n,
		  struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, id, &q, err);

	if (r < 0)
		return r;
	for (int i = first; i < first + n; i++) {
		const int64_t *row = s->files[i];

		for (int k = 0; k < STORE_FILE_NUMBERS; k++)
			statement_int(&q, row[k]);
		statement_id(&q, row[STORE_FILE_NUMBERS]);
		statement_id(&q, row[STORE_FILE_NUMBERS + 1]);
		statement_count(&q, row[STORE_FILE_NUMBERS + 2]);
		statement_count(&q, row[STORE_FILE_NUMBERS + 3]);
	}
	return statement_run(&q, err);
}

int store_files_flush(struct store *s, struct roar_error *err)
{
	int n = s->n_files;
	int r = store_must_write(s, err); /* SQLite may have rolled back */

	s->n_files = 0; /* before the statements below look */
	if (r == 0 && n == STORE_FILE_BATCH)
		return insert(s, SQL_FILE_ADD_MANY, 0, n, err);
	for (int i = 0; r == 0 && i < n; i++)
		r = insert(s, SQL_FILE_ADD, i, 1, err);
	return r;
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
		r = store_path_intern(s, file->path, &path_id, err);
	if (r == 0 && file->origin && file->origin[0])
		r = store_path_intern(s, file->origin, &origin_id, err);
	if (r == 0)
		r = intern_artifact(s, file, &artifact_id, err);
	if (r == 0)
		r = number_file(s, file->job_id, &n, err);
	if (r < 0)
		return r;
	fill(s->files[s->n_files++], file, n, path_id, artifact_id, origin_id);
	s->files_n = n;
	return s->n_files < STORE_FILE_BATCH ? 0 : store_files_flush(s, err);
}
