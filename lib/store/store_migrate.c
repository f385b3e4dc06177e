/* store_migrate.c - from any older version of the schema to this one.
 *
 * The version is PRAGMA user_version, 0 in an empty file.  A step that was ever
 * released is never changed: a new version appends a step, and a database walks
 * all steps it has not seen in one transaction, so it is never between two
 * versions. */
#include "store/store_internal.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/macros.h"
#include "schema.h"
#include "schema_10.h"
#include "schema_11.h"
#include "schema_2.h"
#include "schema_3.h"
#include "schema_4.h"
#include "schema_5.h"
#include "schema_6.h"
#include "schema_7.h"
#include "schema_8.h"
#include "schema_9.h"

const char *const store_steps[] = { schema_sql,	   schema_2_sql, schema_3_sql,
				    schema_4_sql,  schema_5_sql, schema_6_sql,
				    schema_7_sql,  schema_8_sql, schema_9_sql,
				    schema_10_sql, schema_11_sql };
const int store_n_steps = ARRAY_SIZE(store_steps);

static int read_int(struct store *s, const char *sql, int64_t *ret,
		    struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_prepare(s, sql, &q, err);

	return r < 0 ? r : statement_one(&q, 0, ret, err);
}

int store_version(struct store *s, int *ret_version, struct roar_error *err)
{
	int64_t version = 0;
	int r = read_int(s, "PRAGMA user_version", &version, err);

	if (r == 0)
		*ret_version = (int)version;
	return r;
}

/* A database with tables but without our application id belongs to another program. */
static int check_owner(struct store *s, struct roar_error *err)
{
	int64_t id = 0;
	int64_t n_tables = 0;
	int r = read_int(s, "PRAGMA application_id", &id, err);

	if (r < 0 || id == STORE_APPLICATION_ID)
		return r;
	if (id == 0) {
		r = read_int(s, "SELECT count(*) FROM sqlite_schema", &n_tables,
			     err);
		if (r < 0)
			return r;
		if (n_tables == 0)
			return 0;
		/* Another process may have made it ours between the two. */
		r = read_int(s, "PRAGMA application_id", &id, err);
		if (r < 0 || id == STORE_APPLICATION_ID)
			return r;
	}
	return error_set(err, -EUCLEAN,
			 "'%s' is the database of another program: "
			 "move it away and run 'roar init'",
			 s->path);
}

/* Switching to WAL needs the file for oneself, and SQLite does not wait for
 * that; another process that creates the same database is done soon. */
static int set_wal(struct store *s, struct roar_error *err)
{
	const struct timespec pause = { .tv_nsec = 1000 * 1000 };
	int r = -EBUSY;

	for (int ms = 0; r == -EBUSY && ms < STORE_BUSY_MS; ms++) {
		if (ms)
			(void)nanosleep(&pause, NULL);
		(void)sqlite3_busy_timeout(s->db, 0);
		r = store_exec(s, "PRAGMA journal_mode = WAL", err);
		(void)sqlite3_busy_timeout(s->db, STORE_BUSY_MS);
	}
	return r;
}

static int apply(struct store *s, const char *const steps[], int n_steps,
		 struct roar_error *err)
{
	int version = 0; /* another process may have been faster */
	char mark[96];
	int r = store_version(s, &version, err);

	if (r < 0)
		return r;
	for (int i = version; i < n_steps; i++) {
		r = store_exec(s, steps[i], err);
		if (r < 0)
			return r;
	}
	if (version >= n_steps)
		return 0;
	(void)snprintf(mark, sizeof(mark),
		       "PRAGMA application_id = %d; PRAGMA user_version = %d",
		       STORE_APPLICATION_ID, n_steps);
	return store_exec(s, mark, err);
}

static int refuse(struct store *s, int version, int n_steps,
		  struct roar_error *err)
{
	if (version > n_steps || version < 0)
		return error_set(err, -ENOTSUP,
				 "'%s' was written by a newer roar (schema %d, "
				 "this one knows %d): upgrade roar or use "
				 "another project directory",
				 s->path, version, n_steps);
	if (version == 0)
		return error_set(err, -EROFS,
				 "'%s' is empty: 'roar init' or the next 'roar "
				 "run' makes it a database again",
				 s->path);
	return error_set(err, -ESTALE,
			 "'%s' has the older schema %d and cannot be written: "
			 "make it writable and run 'roar status' once",
			 s->path, version);
}

int store_migrate(struct store *s, const char *const steps[], int n_steps,
		  struct roar_error *err)
{
	int version = 0;
	int r = store_version(s, &version, err);

	if (r < 0)
		return r;
	if (version > n_steps || version < 0)
		return refuse(s, version, n_steps, err);
	r = check_owner(s, err);
	if (r < 0 || version == n_steps)
		return r;
	if (sqlite3_db_readonly(s->db, "main"))
		return refuse(s, version, n_steps, err);

	if (version == 0)
		r = set_wal(s, err);
	if (r == 0)
		r = store_begin(s, err);
	if (r == 0)
		r = apply(s, steps, n_steps, err);
	if (r == 0)
		return store_commit(s, err);
	store_rollback(s);
	return r;
}
