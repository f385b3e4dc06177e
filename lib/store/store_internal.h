/* store_internal.h - what the files of the store share.
 *
 * A `struct statement` is one use of an SQL statement: open it, bind in order,
 * step, read columns in order, close it.  Binding and reading never have to be
 * checked call by call; statement_next() reports the first failure of either.
 * The statements of the table in store_statement.c are prepared on first use and kept
 * until the store is closed. */
#ifndef ROAR_STORE_STORE_INTERNAL_H
#define ROAR_STORE_STORE_INTERNAL_H

#include <sqlite3.h>

#include "store/store.h"

struct str;

enum store_sql {
	SQL_BEGIN,
	SQL_COMMIT,
	SQL_ROLLBACK,
	SQL_SESSION_ACTIVE,
	SQL_SESSION_ADD,
	SQL_SESSION_BY_ID,
	SQL_SESSION_CLOSE,
	SQL_SESSION_COUNT,
	SQL_SESSIONS,
	SQL_SESSION_STEPS,
	SQL_SESSION_STEP,
	SQL_SESSION_CONTENT,
	SQL_SESSION_BY_UID,
	SQL_SESSION_IMPORT,
	SQL_JOB_BY_UID,
	SQL_JOB_PLACE,
	SQL_JOB_BY_ID, /* has no text in the table: store_job.c */
	SQL_JOB_DELETE,
	SQL_JOB_INDEX,
	SQL_JOB_UNINDEX,
	SQL_STEP_OF_JOB,
	SQL_STEP_BY_COMMAND,
	SQL_STEP_BY_OUTPUT,
	SQL_STEP_NEXT,
	SQL_ATTEMPT_NEXT,
	SQL_PROCESS_ADD,
	SQL_PROCESSES,
	SQL_PROCESS_PIDS,
	SQL_EDGE_ADD,
	SQL_EDGE_ADD_MANY,
	SQL_EDGES,
	SQL_EDGES_OF_FILES,
	SQL_RANK_ADD,
	SQL_RANKS,
	SQL_GAP_ADD,
	SQL_GAPS,
	SQL_LEFT_OUT_ADD,
	SQL_LEFT_OUT,
	SQL_SHARD_ADD,
	SQL_SHARDS,
	SQL_CHECKPOINT_ADD,
	SQL_CHECKPOINT_SHARD_ADD,
	SQL_CHECKPOINTS_OF_PATH,
	SQL_CHECKPOINTS_OF_JOB,
	SQL_CHECKPOINT_SHARDS,
	SQL_CHECKPOINT_SHARD_ROWS,
	SQL_OBJECT_ADD,
	SQL_OBJECT_CONTENT,
	SQL_OBJECTS,
	SQL_SITUATION_FIND,
	SQL_SITUATION_ADD,
	SQL_JOB_SITUATION_ADD,
	SQL_JOB_SITUATION,
	SQL_COLLECTION_ADD,
	SQL_COLLECTION_USE_ADD,
	SQL_COLLECTION_NAME_ADD,
	SQL_COLLECTION_NAMED,
	SQL_COLLECTION_GET,
	SQL_COLLECTION_AT,
	SQL_COLLECTIONS,
	SQL_COLLECTION_USES,
	SQL_JOB_COLLECTIONS,
	SQL_COLLECTION_DELETE_UNUSED,
	SQL_MEMBERS_BEGIN,
	SQL_MEMBER_ADD,
	SQL_MEMBERS_PREFIX,
	SQL_MEMBERS_SOURCE,
	SQL_GROUP_ADD,
	SQL_GROUP,
	SQL_GROUP_PARTS,
	SQL_PARTS,
	SQL_PART_ADD,
	SQL_JOIN_COUNT,
	SQL_JOIN_FILES,
	SQL_JOIN_SHARDS,
	SQL_LABEL_SESSION_ADD,
	SQL_LABEL_SESSION_HISTORY,
	SQL_LABEL_SESSIONS,
	SQL_LABEL_JOB_ADD,
	SQL_LABEL_JOB_HISTORY,
	SQL_LABEL_JOBS,
	SQL_LABEL_ARTIFACT_ADD,
	SQL_LABEL_ARTIFACT_HISTORY,
	SQL_LABEL_ARTIFACTS,
	SQL_TAG_ADD,
	SQL_TAG_REMOVE,
	SQL_TAG_HISTORY_ADD,
	SQL_TAG_HISTORY,
	SQL_TAGS_OF_JOB,
	SQL_TAGS_OF_SESSION,
	SQL_PATH_FIND,
	SQL_PATH_ADD,
	SQL_ARTIFACT_FIND,
	SQL_ARTIFACT_ADD,
	SQL_ARTIFACT_COMPLETE,
	SQL_ARTIFACT_GET,
	SQL_ARTIFACT_PREFIX,
	SQL_ARTIFACT_DELETE_OF_JOB,
	SQL_FILE_LAST,
	SQL_FILE_ADD,
	SQL_FILE_ADD_MANY,
	SQL_FILE_COUNT,
	SQL_SESSION_FILE_COUNT,
	SQL_FILES_OF_JOB,
	SQL_FILES_WALK,
	SQL_SOURCES_OF_JOB,
	SQL_FILES_OF_SESSION,
	SQL_FILES_OF_ARTIFACT,
	SQL_FILES_OF_PATH,
	SQL_FILTER_COUNTS,
	SQL_ENUM_END,
};

enum {
	STORE_FILE_COLUMNS = 21, /* of job_files */
	STORE_FILE_NUMBERS = 17, /* that are never NULL: the first ones */
	STORE_FILE_BATCH = 16, /* rows of SQL_FILE_ADD_MANY */
	STORE_EDGE_BATCH = 16, /* rows of SQL_EDGE_ADD_MANY */
};

/* Of the artifact, or the collection, `a`: it is neither named nor a member of what is;
 * and no job has used it as a whole either. */
#define STORE_NOT_NAMED                                   \
	"NOT EXISTS (SELECT 1 FROM collection_names n "   \
	"WHERE n.collection_id = a.id) AND "              \
	"NOT EXISTS (SELECT 1 FROM collection_members m " \
	"WHERE m.artifact_id = a.id)"
#define STORE_NO_COLLECTION                                 \
	STORE_NOT_NAMED " AND NOT EXISTS "                  \
			"(SELECT 1 FROM job_collections u " \
			"WHERE u.collection_id = a.id)"

struct store {
	sqlite3 *db;
	char *path; /* of roar.db, for messages */
	sqlite3_stmt *stmts[SQL_ENUM_END]; /* NULL until first used */
	int wal_pages; /* in the WAL after the last commit */
	/* Valid inside one transaction only: */
	int64_t files_job; /* the job files were last added to, 0 none */
	int64_t files_n; /* number of its last file */
	int n_files; /* rows that wait in `files` */
	int64_t files[STORE_FILE_BATCH][STORE_FILE_COLUMNS];
	bool path_was_new; /* the last one that was added */
	bool artifact_was_new;
};

enum {
	STORE_APPLICATION_ID = 0x726f6172, /* "roar" */
	STORE_BUSY_MS = 30 * 1000,
};

/* ---- store_failure.c ---- */

/* The message and the errno for a result code of SQLite on the database at `path`.
 * `sys` is the errno that caused it or 0, `detail` SQLite's own message. */
int store_failure(const char *path, int code, int sys, const char *detail,
		  struct roar_error *err);

/* The same for the last error of the connection. */
int store_fail(const struct store *s, struct roar_error *err);

/* ---- store_statement.c ---- */

struct statement {
	struct store *s;
	sqlite3_stmt *stmt;
	bool owned; /* not from the table: finalised at the end */
	int bound; /* parameters bound so far */
	int column; /* next column to read */
	int code; /* first failure of binding or reading, SQLITE_OK */
};

int statement_open(struct store *s, enum store_sql id, struct statement *q,
		   struct roar_error *err);
int statement_prepare(struct store *s, const char *sql, struct statement *q,
		      struct roar_error *err);
void statement_close(struct statement *q);

void statement_int(struct statement *q, int64_t value);
void statement_id(struct statement *q, int64_t id); /* 0 binds NULL */
void statement_count(struct statement *q, int64_t n); /* negative binds NULL */
void statement_text(struct statement *q, const char *text); /* NULL binds "" */
void statement_blob(struct statement *q, const void *data,
		    size_t len); /* or NULL */

/* The text and blobs are borrowed until the statement is closed. */
int statement_next(struct statement *q,
		   struct roar_error *err); /* 1 row, 0 end */

/* Runs a statement that returns no rows, and closes the statement. */
int statement_run(struct statement *q, struct roar_error *err);

/* Runs, and reads one integer, `missing` when there is no row. */
int statement_one(struct statement *q, int64_t missing, int64_t *ret,
		  struct roar_error *err);

int64_t column_int(struct statement *q);
int64_t column_count(struct statement *q); /* -1: NULL */
const char *column_text(struct statement *q, struct pool *pool);
void column_chars(struct statement *q, char *chars, size_t size);
void column_str(struct statement *q, struct str *out); /* appends */

/* Fills `bytes` when the column holds exactly `len` bytes. */
bool column_blob(struct statement *q, void *bytes, size_t len);

/* All digests that there are, or all but BLAKE3, in the order of enum digest_algo. */
void column_digests(struct statement *q, bool blake3, struct digests *ret);
void statement_digests(struct statement *q, bool blake3,
		       const struct digests *d);

/* An array of rows that grows in a pool. */
struct rows {
	struct pool *pool;
	char *data;
	size_t size; /* bytes of an element */
	size_t n, cap;
};

/* Adds a zeroed element; NULL when out of memory. */
void *rows_push(struct rows *rows);

/* ---- store_migrate.c ---- */

/* Brings the database to version `n_steps`: steps[0] makes version 1 of an
 * empty file, steps[i] makes version i + 1 of version i.  All or nothing. */
int store_migrate(struct store *s, const char *const steps[], int n_steps,
		  struct roar_error *err);

/* The migration steps of this program. */
extern const char *const store_steps[];
extern const int store_n_steps;

int store_version(struct store *s, int *ret_version, struct roar_error *err);

/* ---- and the rest ---- */

/* 0 inside a transaction; an error with a message outside. */
int store_must_write(struct store *s, struct roar_error *err);

/* Runs statements without parameters. */
int store_exec(struct store *s, const char *sql, struct roar_error *err);

/* Appends the words of `search` as a query of FTS5; nothing when it is blank. */
int store_search_words(struct str *out, const char *search,
		       struct roar_error *err);

/* The id of an interned path, 0 when it is unknown. */
int store_path_find(struct store *s, const char *path, int64_t *ret,
		    struct roar_error *err);

/* The id of a path, and that of the artifact with a digest, added if it is new. */
int store_path_intern(struct store *s, const char *path, int64_t *ret,
		      struct roar_error *err);
int store_content_intern(struct store *s, const uint8_t blake3[BLAKE3_LEN],
			 int64_t size, int64_t *ret, struct roar_error *err);

/* Writes the buffered rows of files. */
int store_files_flush(struct store *s, struct roar_error *err);

#endif
