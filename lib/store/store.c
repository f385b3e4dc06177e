/* store.c - opening, closing and transactions.
 *
 * A run opens the database, commits once and exits, so what an ordinary close
 * does (copy the WAL into the database, sync both, delete the WAL) would cost
 * more than the record itself.  Here a close leaves the WAL and its index in
 * place until the WAL has WAL_PAGES_MAX pages; the next process reads those
 * again, which is cheaper than a sync: at most a third of a millisecond.  Only then
 * the WAL is copied and emptied.  A run with 1,000 files writes some 80 pages.
 * A backup therefore takes roar.db and roar.db-wal. */
#include "store/store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"

enum {
	WAL_PAGES_MAX = 256, /* left by a close */
	WAL_PAGES_LONG = 1000, /* a process that commits often copies here */
};

static int on_commit(void *ctx, sqlite3 *db, const char *name, int n_pages)
{
	struct store *s = ctx;

	s->wal_pages = n_pages;
	if (n_pages >= WAL_PAGES_LONG)
		(void)sqlite3_wal_checkpoint_v2(
			db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	return SQLITE_OK;
}

/* SQLite keeps count of its memory under a lock, at every allocation. */
static void configure_library(void)
{
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/* Settings of a connection that need no statement.  A database may come with a
 * directory that another user packed: its schema is not trusted. */
static void configure(struct store *s)
{
	(void)sqlite3_busy_timeout(s->db, STORE_BUSY_MS);
	(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
	(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	(void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
				NULL);
	(void)sqlite3_wal_hook(s->db, on_commit, s);
}

/* Opens one connection; on failure the sentence comes from it. */
static int connect(struct store *s, const char *name, int flags,
		   struct roar_error *err)
{
	int code = sqlite3_open_v2(name, &s->db, flags | SQLITE_OPEN_NOMUTEX,
				   NULL);

	if (!s->db)
		return store_failure(s->path, SQLITE_NOMEM, 0, "", err);
	if (code != SQLITE_OK)
		return store_fail(s, err);
	configure(s);
	return 0;
}

static void disconnect(struct store *s)
{
	for (int i = 0; i < SQL_ENUM_END; i++) {
		(void)sqlite3_finalize(s->stmts[i]);
		s->stmts[i] = NULL;
	}
	(void)sqlite3_close(s->db);
	s->db = NULL;
}

/* Makes an empty file with the right mode whatever the umask is; the WAL and
 * its index inherit it.  Never opens a file that exists: closing it again would
 * drop the locks of other connections of this process. */
static int create_file(const struct store *s, struct roar_error *err)
{
	CLEANUP(closep)
	int fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 && errno == EEXIST)
		return 0;
	if (fd < 0 || fchmod(fd, 0600) < 0)
		return store_failure(s->path, SQLITE_CANTOPEN, errno, "", err);
	return 0;
}

/* A database on a medium where the index of the WAL cannot be made is still readable
 * when it has no WAL with content. */
static bool has_wal(const struct store *s)
{
	CLEANUP(str_release) struct str name = STR_INIT;
	struct stat st;

	str_addf(&name, "%s-wal", s->path);
	return str_error(&name) < 0 ||
	       (stat(str_cstr(&name), &st) == 0 && st.st_size > 0);
}

static int connect_immutable(struct store *s, struct roar_error *err)
{
	CLEANUP(str_release) struct str uri = STR_INIT;

	str_adds(&uri, s->path[0] == '/' ? "file://" : "file:");
	for (const char *p = s->path; *p; p++)
		if (strchr("?#%", *p))
			str_addf(&uri, "%%%02x", (unsigned char)*p);
		else
			str_addc(&uri, *p);
	str_adds(&uri, "?immutable=1");
	if (str_error(&uri) < 0)
		return store_failure(s->path, SQLITE_NOMEM, 0, "", err);
	disconnect(s);
	return connect(s, str_cstr(&uri),
		       SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
}

/* The first read, which is when a WAL that cannot be used shows. */
static int first_look(struct store *s, struct roar_error *err)
{
	int version;
	int r = store_version(s, &version, err);

	if ((r != -EACCES && r != -EROFS && r != -ENOENT) || has_wal(s))
		return r;
	r = connect_immutable(s, err);
	return r < 0 ? r : store_version(s, &version, err);
}

static int reconnect(struct store *s, int mode, struct roar_error *err)
{
	disconnect(s);
	return connect(s, s->path, mode, err);
}

/* If SQLite cannot open a file for writing, it opens it for reading, without an error.
 * A file that another process makes between the two tries is not read-only; the second
 * try finds it writable, or it is read-only. */
static int open_file(struct store *s, unsigned flags, struct roar_error *err)
{
	int mode = flags & STORE_READONLY ? SQLITE_OPEN_READONLY :
					    SQLITE_OPEN_READWRITE;
	int r = connect(s, s->path, mode, err);

	if (flags & STORE_READONLY)
		return r;
	if (r == -ENOENT && flags & STORE_CREATE) {
		r = create_file(s, err);
		return r < 0 ? r : reconnect(s, mode, err);
	}
	if (r == 0 && sqlite3_db_readonly(s->db, "main"))
		return reconnect(s, mode, err);
	return r;
}

/* SQLite has a limit of its own, and returns no message for a longer name.  Names that
 * begin with "file:" would be taken for a URI. */
static int name_file(struct store *s, const char *dir, struct roar_error *err)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	const sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	str_addf(&path, "%s%s/roar.db", strncmp(dir, "file:", 5) ? "" : "./",
		 dir[0] ? dir : ".");
	s->path = str_take(&path);
	if (!s->path)
		return error_set(err, -ENOMEM, "out of memory");
	if (vfs &&
	    strlen(s->path) + sizeof("-journal") > (size_t)vfs->mxPathname)
		return store_failure(s->path, SQLITE_CANTOPEN, ENAMETOOLONG, "",
				     err);
	return 0;
}

/* The directory is missing when even creating the file fails with that error. */
static int explain_missing(const char *dir, unsigned flags, int r,
			   struct roar_error *err)
{
	struct stat st;

	if (r == -ENOENT && flags & STORE_CREATE && stat(dir, &st) < 0)
		return error_set(err, r,
				 "'%s' does not exist: run 'roar init' first",
				 dir);
	return r;
}

int store_open(const char *dir, unsigned flags, struct store **ret_store,
	       struct roar_error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	CLEANUP(store_closep) struct store *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_set(err, -ENOMEM, "out of memory");
	(void)pthread_once(&once, configure_library);
	r = name_file(s, dir, err);
	if (r == 0)
		r = open_file(s, flags, err);
	if (r == 0)
		r = first_look(s, err);
	if (r == 0)
		r = store_exec(s,
			       "PRAGMA synchronous = FULL;"
			       "PRAGMA cache_size = -8192;"
			       "PRAGMA temp_store = MEMORY",
			       err);
	if (r == 0)
		r = store_migrate(s, store_steps, store_n_steps, err);
	if (r < 0)
		return explain_missing(dir, flags, r, err);
	*ret_store = TAKE_PTR(s);
	return 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	if (s->db) {
		store_rollback(s);
		/* Without waiting: a process that is reading now copies it later. */
		(void)sqlite3_busy_timeout(s->db, 0);
		if (s->wal_pages > WAL_PAGES_MAX)
			(void)sqlite3_wal_checkpoint_v2(
				s->db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL,
				NULL);
		disconnect(s);
	}
	free(s->path);
	free(s);
}

int store_exec(struct store *s, const char *sql, struct roar_error *err)
{
	if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return store_fail(s, err);
	return 0;
}

static int run(struct store *s, enum store_sql id, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, id, &q, err);

	return r < 0 ? r : statement_run(&q, err);
}

/* Clears the state of a transaction that has ended. */
static void forget(struct store *s)
{
	s->files_job = 0;
	s->files_n = 0;
	s->n_files = 0;
	s->path_was_new = false;
	s->artifact_was_new = false;
}

int store_begin(struct store *s, struct roar_error *err)
{
	if (!sqlite3_get_autocommit(s->db))
		return error_set(err, -EINVAL,
				 "a transaction on '%s' is under way already",
				 s->path);
	/* SQLite itself would only refuse the first write. */
	if (sqlite3_db_readonly(s->db, "main"))
		return store_failure(s->path, SQLITE_READONLY, 0, "", err);
	forget(s);
	return run(s, SQL_BEGIN, err);
}

int store_commit(struct store *s, struct roar_error *err)
{
	int r = store_must_write(s, err);

	if (r == 0)
		r = run(s, SQL_COMMIT, err);
	if (r < 0)
		store_rollback(s);
	forget(s);
	return r;
}

void store_rollback(struct store *s)
{
	/* SQLite itself rolls back after some failures. */
	if (!sqlite3_get_autocommit(s->db))
		(void)run(s, SQL_ROLLBACK, NULL);
	forget(s);
}

int store_snapshot_begin(struct store *s, struct roar_error *err)
{
	if (!sqlite3_get_autocommit(s->db))
		return 0;
	int r = store_exec(s, "BEGIN", err);

	return r < 0 ? r : 1;
}

void store_snapshot_end(struct store *s)
{
	/* It has read only: there is nothing that could fail to be kept. */
	(void)store_exec(s, "COMMIT", NULL);
}

int store_must_write(struct store *s, struct roar_error *err)
{
	if (!sqlite3_get_autocommit(s->db))
		return 0;
	return error_set(err, -EINVAL,
			 "nothing was written to '%s': the transaction had "
			 "already ended; run the command again",
			 s->path);
}
