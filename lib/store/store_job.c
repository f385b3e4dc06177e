/* store_job.c - jobs.
 *
 * One table maps the fields of struct store_job to the columns of its row; inserting
 * and reading both use it. */
#include "store/store_internal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "base/pool.h"
#include "base/str.h"

enum job_type {
	JOB_INT64,
	JOB_INT,
	JOB_BOOL,
	JOB_TRI,
	JOB_TEXT,
	JOB_UID,
	JOB_ID,
	JOB_OPTIONAL_ID
};

static const struct job_column {
	const char *name;
	size_t offset; /* in struct store_job */
	enum job_type type;
} columns[] = {
#define COLUMN(type, name)                                    \
	{                                                     \
#name, offsetof(struct store_job, name), type \
	}
	COLUMN(JOB_INT64, session_id),
	COLUMN(JOB_TEXT, kind),
	COLUMN(JOB_INT64, step),
	COLUMN(JOB_INT64, attempt),
	COLUMN(JOB_UID, uid),
	COLUMN(JOB_INT64, started_ns),
	COLUMN(JOB_INT64, duration_ns),
	COLUMN(JOB_INT, status),
	COLUMN(JOB_INT, exit_code),
	COLUMN(JOB_BOOL, complete),
	COLUMN(JOB_TRI, git_dirty),
	COLUMN(JOB_INT64, git_n_left_out),
	COLUMN(JOB_INT64, n_inputs),
	COLUMN(JOB_INT64, n_outputs),
	COLUMN(JOB_INT64, n_filtered),
	COLUMN(JOB_INT64, n_processes),
	COLUMN(JOB_INT64, cpu_user_ns),
	COLUMN(JOB_INT64, cpu_system_ns),
	COLUMN(JOB_INT64, max_rss_kib),
	COLUMN(JOB_INT64, attach_ns),
	COLUMN(JOB_INT64, n_escaped),
	COLUMN(JOB_INT64, n_lost),
	COLUMN(JOB_INT64, n_rings),
	COLUMN(JOB_INT64, n_sums_lost),
	COLUMN(JOB_INT64, n_namespaces),
	COLUMN(JOB_INT64, n_edges_left_out),
	COLUMN(JOB_ID, command_id),
	COLUMN(JOB_OPTIONAL_ID, output_id),
	COLUMN(JOB_TEXT, name),
	COLUMN(JOB_TEXT, tracer),
	COLUMN(JOB_TEXT, filters),
	COLUMN(JOB_TEXT, environment),
	COLUMN(JOB_TEXT, version),
	COLUMN(JOB_TEXT, host),
	COLUMN(JOB_TEXT, user),
	COLUMN(JOB_TEXT, git_commit),
	COLUMN(JOB_TEXT, git_branch),
	COLUMN(JOB_TEXT, git_snapshot),
	COLUMN(JOB_TEXT, git_remote),
	COLUMN(JOB_TEXT, git_root),
	COLUMN(JOB_TEXT, git_note),
	COLUMN(JOB_TEXT, cwd),
	COLUMN(JOB_TEXT, script),
	COLUMN(JOB_TEXT, command),
	COLUMN(JOB_TEXT, argv),
#undef COLUMN
};

enum { N_COLUMNS = ARRAY_SIZE(columns) };

static const uint8_t zero_id[sizeof(((struct store_job *)NULL)->output_id)];

static bool is_zero(const uint8_t *id)
{
	return !memcmp(id, zero_id, sizeof(zero_id));
}

/* What is not known is NULL. */
static void bind_tri(struct statement *q, enum tri value)
{
	if (value == TRI_UNKNOWN)
		statement_blob(q, NULL, 0);
	else
		statement_int(q, value == TRI_YES);
}

static enum tri column_tri(struct statement *q)
{
	bool null = sqlite3_column_type(q->stmt, q->column) == SQLITE_NULL;
	bool yes = column_int(q) != 0;

	if (null)
		return TRI_UNKNOWN;
	return yes ? TRI_YES : TRI_NO;
}

static void bind_column(struct statement *q, const struct job_column *c,
			const struct store_job *job)
{
	const void *field = (const char *)job + c->offset;

	switch (c->type) {
	case JOB_INT64:
		statement_int(q, *(const int64_t *)field);
		break;
	case JOB_INT:
		statement_int(q, *(const int *)field);
		break;
	case JOB_BOOL:
		statement_int(q, *(const bool *)field);
		break;
	case JOB_TRI:
		bind_tri(q, *(const enum tri *)field);
		break;
	case JOB_TEXT:
		statement_text(q, *(const char *const *)field);
		break;
	case JOB_UID:
		statement_text(q, field);
		break;
	case JOB_ID:
		statement_blob(q, field, sizeof(zero_id));
		break;
	case JOB_OPTIONAL_ID: /* zero is NULL, which has no index entry */
		statement_blob(q, is_zero(field) ? NULL : field,
			       sizeof(zero_id));
		break;
	}
}

static void read_column(struct statement *q, const struct job_column *c,
			struct pool *pool, struct store_job *job)
{
	void *field = (char *)job + c->offset;

	switch (c->type) {
	case JOB_INT64:
		*(int64_t *)field = column_int(q);
		break;
	case JOB_INT:
		*(int *)field = (int)column_int(q);
		break;
	case JOB_BOOL:
		*(bool *)field = column_int(q) != 0;
		break;
	case JOB_TRI:
		*(enum tri *)field = column_tri(q);
		break;
	case JOB_TEXT:
		*(const char **)field = column_text(q, pool);
		break;
	case JOB_UID:
		column_chars(q, field, sizeof(job->uid));
		break;
	case JOB_ID:
	case JOB_OPTIONAL_ID:
		(void)column_blob(q, field, sizeof(zero_id)); /* NULL: zero */
		break;
	}
}

/* ---- adding ---- */

/* The step of the job that this one runs again, if it is still there. */
static int step_again(struct store *s, const struct store_job *job,
		      int64_t *ret, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_STEP_OF_JOB, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job->rerun_of);
	statement_int(&q, job->session_id);
	statement_text(&q, job->kind);
	return statement_one(&q, 0, ret, err);
}

/* The step of the latest job with that id; 0 when there is none. */
static int find_step(struct store *s, enum store_sql id,
		     const struct store_job *job, const uint8_t *step_id,
		     int64_t *ret, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, id, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job->session_id);
	statement_text(&q, job->kind);
	statement_blob(&q, step_id, sizeof(zero_id));
	return statement_one(&q, 0, ret, err);
}

static int next_step(struct store *s, const struct store_job *job, int64_t *ret,
		     struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_STEP_NEXT, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job->session_id);
	statement_text(&q, job->kind);
	return statement_one(&q, 1, ret, err);
}

static int next_attempt(struct store *s, int64_t session_id, const char *kind,
			int64_t step, int64_t *ret, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_ATTEMPT_NEXT, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, session_id);
	statement_text(&q, kind);
	statement_int(&q, step);
	return statement_one(&q, 1, ret, err);
}

/* The step, and the number of this execution of it; a new step needs no look. */
static int assign_step(struct store *s, struct store_job *job,
		       struct roar_error *err)
{
	int64_t step = 0;
	int r = job->rerun_of ? step_again(s, job, &step, err) : 0;

	if (r == 0 && !step)
		r = find_step(s, SQL_STEP_BY_COMMAND, job, job->command_id,
			      &step, err);
	if (r == 0 && !step && !is_zero(job->output_id))
		r = find_step(s, SQL_STEP_BY_OUTPUT, job, job->output_id, &step,
			      err);
	if (r < 0)
		return r;
	job->step = step;
	if (step)
		return next_attempt(s, job->session_id, job->kind, step,
				    &job->attempt, err);
	job->attempt = 1;
	return next_step(s, job, &job->step, err);
}

/* One job more or less (`sign`) in its session, and maybe one step. */
static int count_in_session(struct store *s, const struct store_job *job,
			    int sign, bool step, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	bool build = !strcmp(job->kind, "build");
	int r = statement_open(s, SQL_SESSION_COUNT, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job->session_id);
	statement_int(&q, sign);
	statement_int(&q, step && !build ? sign : 0);
	statement_int(&q, step && build ? sign : 0);
	statement_int(&q, sign * (job->n_inputs + job->n_outputs));
	return statement_run(&q, err);
}

static int check_new(struct store *s, const struct store_job *job,
		     struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int64_t known = 0;
	int r = store_must_write(s, err);

	if (r == 0 && strcmp(job->kind, "run") && strcmp(job->kind, "build"))
		return error_set(err, -EINVAL,
				 "a job cannot be of kind '%s': use 'run' or "
				 "'build'",
				 job->kind);
	if (r == 0)
		r = statement_open(s, SQL_JOB_BY_UID, &q, err);
	if (r < 0)
		return r;
	statement_text(&q, job->uid);
	r = statement_one(&q, 0, &known, err);
	if (r < 0 || !known)
		return r;
	return error_set(err, -EEXIST, "job %s is in '%s' already", job->uid,
			 s->path);
}

static int insert(struct store *s, const struct store_job *job,
		  struct roar_error *err)
{
	CLEANUP(str_release) struct str sql = STR_INIT;
	CLEANUP(statement_close) struct statement q = { 0 };
	int r;

	str_adds(&sql, "INSERT INTO jobs (");
	for (int i = 0; i < N_COLUMNS; i++)
		str_addf(&sql, "%s%s", i ? ", " : "", columns[i].name);
	str_adds(&sql, ") VALUES (");
	for (int i = 0; i < N_COLUMNS; i++)
		str_adds(&sql, i ? ", ?" : "?");
	str_adds(&sql, ")");
	if (str_error(&sql) < 0)
		return error_set(err, -ENOMEM, "out of memory");

	r = statement_prepare(s, str_cstr(&sql), &q, err);
	if (r < 0)
		return r;
	for (int i = 0; i < N_COLUMNS; i++)
		bind_column(&q, &columns[i], job);
	return statement_run(&q, err);
}

/* Runs a statement whose one parameter is a job. */
static int run_on_job(struct store *s, enum store_sql id, int64_t job_id,
		      struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, id, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job_id);
	return statement_run(&q, err);
}

int store_job_place(struct store *s, struct store_job *job,
		    struct roar_error *err)
{
	int r;

	assert(!job->id && job->session_id);
	r = check_new(s, job, err);
	return r < 0 ? r : assign_step(s, job, err);
}

int store_job_add(struct store *s, struct store_job *job,
		  struct roar_error *err)
{
	int r = job->step ? 0 : store_job_place(s, job, err);

	if (r == 0)
		r = insert(s, job, err);
	if (r < 0)
		return r;
	job->id = sqlite3_last_insert_rowid(s->db);
	r = run_on_job(s, SQL_JOB_INDEX, job->id, err);
	if (r < 0)
		return r;
	return count_in_session(s, job, 1, job->attempt == 1, err);
}

static int has_execution(struct store *s, const struct store_job *job,
			 bool *ret, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int64_t found = 0;
	int r = statement_prepare(s,
				  "SELECT id FROM jobs WHERE session_id = ?1 "
				  "AND kind = ?2 AND step = ?3 AND attempt = ?4",
				  &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job->session_id);
	statement_text(&q, job->kind);
	statement_int(&q, job->step);
	statement_int(&q, job->attempt);
	r = statement_one(&q, 0, &found, err);
	*ret = found != 0;
	return r;
}

int store_job_import(struct store *s, struct store_job *job,
		     struct roar_error *err)
{
	bool known = false;
	int64_t next = 0;
	int r = check_new(s, job, err);

	if (r == 0)
		r = has_execution(s, job, &known, err);
	if (r == 0 && known)
		return error_set(err, -EEXIST,
				 "step %lld has another execution %lld in its "
				 "session already",
				 (long long)job->step, (long long)job->attempt);
	if (r == 0)
		r = next_attempt(s, job->session_id, job->kind, job->step,
				 &next, err);
	if (r == 0)
		r = insert(s, job, err);
	if (r < 0)
		return r;
	job->id = sqlite3_last_insert_rowid(s->db);
	r = run_on_job(s, SQL_JOB_INDEX, job->id, err);
	if (r < 0)
		return r;
	return count_in_session(s, job, 1, next == 1, err);
}

/* ---- reading ---- */

/* The conditions of a query; each has its number as a parameter, so binding
 * does not depend on which ones are there. */
static void add_conditions(struct str *sql, const struct store_job_query *query,
			   bool words)
{
	/* The newest jobs of a session are found from the end of the table; the
	 * plus keeps SQLite from sorting all of the session instead. */
	bool from_end = query->limit > 0 && !query->kind && !query->step;
	const struct {
		bool wanted;
		const char *text;
	} conditions[] = {
		{ query->session_id && from_end, " AND +session_id = ?1" },
		{ query->session_id && !from_end, " AND session_id = ?1" },
		{ query->job_id != 0, " AND id = ?2" },
		/* Digits of a uid end before 'g'. */
		{ query->uid_prefix, " AND uid >= ?3 AND uid < ?3 || 'g'" },
		{ query->kind, " AND kind = ?4" },
		{ query->step != 0, " AND step = ?5" },
		{ query->attempt != 0, " AND attempt = ?8" },
		/* SQLite takes `id` from the row that has the maximum; one walk
		 * along the index jobs_step. */
		{ query->latest_only && query->session_id,
		  " AND id IN (SELECT id FROM (SELECT id, max(attempt) "
		  "FROM jobs WHERE session_id = ?1 GROUP BY kind, step))" },
		{ query->latest_only && !query->session_id,
		  " AND id IN (SELECT id FROM (SELECT id, max(attempt) "
		  "FROM jobs GROUP BY session_id, kind, step))" },
		{ words, " AND id IN (SELECT rowid FROM jobs_text "
			 "WHERE jobs_text MATCH ?6)" },
		{ query->limit > 0, " ORDER BY id DESC LIMIT ?7" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(conditions); i++)
		if (conditions[i].wanted)
			str_adds(sql, conditions[i].text);
}

static void add_select(struct str *sql, const struct store_job_query *query,
		       bool words)
{
	str_adds(sql, "SELECT id");
	for (int i = 0; i < N_COLUMNS; i++)
		str_addf(sql, ", %s", columns[i].name);
	/* ?8 fixes the number of parameters. */
	str_adds(sql, " FROM jobs WHERE ?8 IS NOT NULL AND id IN "
		      "(SELECT id FROM jobs j WHERE 1");
	add_conditions(sql, query, words);
	str_adds(sql, ") ORDER BY id");
}

static int read_jobs(struct statement *q, struct pool *pool,
		     struct store_job **ret, size_t *ret_n,
		     struct roar_error *err)
{
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	int r;

	while ((r = statement_next(q, err)) > 0) {
		struct store_job *job = rows_push(&rows);

		if (!job)
			return error_set(err, -ENOMEM, "out of memory");
		job->id = column_int(q);
		for (int i = 0; i < N_COLUMNS; i++)
			read_column(q, &columns[i], pool, job);
	}
	if (r < 0)
		return r;
	*ret = (struct store_job *)rows.data;
	*ret_n = rows.n;
	return 0;
}

/* The questions of walks through the graph: one statement for all of them. */
static bool is_by_id(const struct store_job_query *query)
{
	const struct store_job_query *x = query;

	return x->job_id && !x->session_id && !x->uid_prefix && !x->kind &&
	       !x->step && !x->attempt && !x->latest_only && !x->search &&
	       !x->limit;
}

static int prepare_by_id(struct store *s, const char *sql, struct statement *q,
			 struct roar_error *err)
{
	sqlite3_stmt **stmt = &s->stmts[SQL_JOB_BY_ID];

	if (!*stmt &&
	    sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt,
			       NULL) != SQLITE_OK)
		return store_fail(s, err);
	return statement_open(s, SQL_JOB_BY_ID, q, err);
}

int store_jobs(struct store *s, struct pool *pool,
	       const struct store_job_query *query, struct store_job **ret,
	       size_t *ret_n, struct roar_error *err)
{
	CLEANUP(str_release) struct str sql = STR_INIT;
	CLEANUP(str_release) struct str words = STR_INIT;
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = query->search ? store_search_words(&words, query->search, err) :
				0;

	if (r < 0)
		return r;
	add_select(&sql, query, words.len > 0);
	if (str_error(&sql) < 0 || str_error(&words) < 0)
		return error_set(err, -ENOMEM, "out of memory");

	r = is_by_id(query) ? prepare_by_id(s, str_cstr(&sql), &q, err) :
			      statement_prepare(s, str_cstr(&sql), &q, err);
	if (r < 0)
		return r;
	statement_int(&q, query->session_id);
	statement_int(&q, query->job_id);
	statement_text(&q, query->uid_prefix);
	statement_text(&q, query->kind);
	statement_int(&q, query->step);
	statement_text(&q, str_cstr(&words));
	statement_int(&q, query->limit);
	statement_int(&q, query->attempt);
	return read_jobs(&q, pool, ret, ret_n, err);
}

/* ---- removing ---- */

static int find_place(struct store *s, int64_t job_id, struct pool *pool,
		      struct store_job *ret, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_JOB_PLACE, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, job_id);
	r = statement_next(&q, err);
	if (r < 0)
		return r;
	if (r == 0)
		return error_set(err, -ENOENT, "'%s' has no job %lld", s->path,
				 (long long)job_id);
	ret->session_id = column_int(&q);
	ret->kind = column_text(&q, pool);
	ret->step = column_int(&q);
	ret->n_inputs = column_int(&q);
	ret->n_outputs = column_int(&q);
	return 0;
}

static int delete_unused_collections(struct store *s, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int r = statement_open(s, SQL_COLLECTION_DELETE_UNUSED, &q, err);

	return r < 0 ? r : statement_run(&q, err);
}

int store_job_remove(struct store *s, int64_t job_id, struct roar_error *err)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	struct store_job job = { 0 };
	int64_t attempt = 0;
	int r = store_must_write(s, err);

	if (r == 0)
		r = find_place(s, job_id, &pool, &job, err);
	if (r == 0)
		r = run_on_job(s, SQL_ARTIFACT_DELETE_OF_JOB, job_id, err);
	if (r == 0)
		r = run_on_job(s, SQL_JOB_UNINDEX, job_id, err);
	if (r == 0)
		r = run_on_job(s, SQL_JOB_DELETE, job_id, err);
	if (r == 0)
		r = delete_unused_collections(s, err);
	if (r == 0)
		r = next_attempt(s, job.session_id, job.kind, job.step,
				 &attempt, err);
	if (r < 0)
		return r;
	/* The id may be given out again, so may the numbers of its files. */
	s->files_job = 0;
	return count_in_session(s, &job, -1, attempt == 1, err);
}
