/* test_store_migrate.c - steps between versions of the schema. */
#include "fixture.h"

enum { NOW = 11 }; /* the version that the store makes */

static const char *const good[] = {
	[NOW] = "ALTER TABLE jobs ADD COLUMN extra INTEGER NOT NULL DEFAULT 9",
	[NOW + 1] =
		"CREATE TABLE later (a INTEGER); INSERT INTO later VALUES (5)",
};

static void new_database_has_the_latest_version(void **state)
{
	struct fixture *f = *state;
	int version = 0;

	ok(f, store_version(f->s, &version, &f->err));
	assert_int_equal(version, store_n_steps);
}

static void later_steps_are_applied_once_and_keep_the_rows(void **state)
{
	struct fixture *f = *state;
	int version = 0;

	(void)add_job(f, "aaaa", "true", 1, 0);
	ok(f, store_migrate(f->s, good, NOW + 2, &f->err));
	ok(f, store_migrate(f->s, good, NOW + 2, &f->err));
	ok(f, store_version(f->s, &version, &f->err));
	assert_int_equal(version, NOW + 2);
	assert_int_equal(count(f, "SELECT extra FROM jobs"), 9);
	assert_int_equal(count(f, "SELECT count(*) FROM later"), 1);
}

static void failing_step_leaves_the_old_version(void **state)
{
	struct fixture *f = *state;
	const char *const bad[] = {
		[NOW] = good[NOW],
		[NOW + 1] = "CREATE TABLE jobs (a)",
	};
	int version = 0;

	(void)add_job(f, "aaaa", "true", 1, 0);
	fails(f, store_migrate(f->s, bad, NOW + 2, &f->err), EUCLEAN,
	      "is not laid out as roar expects (table jobs already exists)");
	ok(f, store_version(f->s, &version, &f->err));
	assert_int_equal(version, NOW);
	assert_int_equal(count(f, "SELECT count(*) FROM "
				  "pragma_table_info('jobs') "
				  "WHERE name = 'extra'"),
			 0);
	(void)add_job(f, "bbbb", "true", 1, 0);
}

static void database_newer_than_the_steps_is_refused(void **state)
{
	struct fixture *f = *state;

	ok(f, store_migrate(f->s, good, NOW + 2, &f->err));
	fails(f, store_migrate(f->s, good, NOW + 1, &f->err), ENOTSUP,
	      "(schema 13, this one knows 12)");
	ok(f, store_exec(f->s, "PRAGMA user_version = -1", &f->err));
	fails(f, store_migrate(f->s, good, NOW + 1, &f->err), ENOTSUP, "newer");
}

static void older_database_cannot_be_migrated_readonly(void **state)
{
	struct fixture *f = *state;
	int version = 0;

	reopen(f, STORE_READONLY);
	fails(f, store_migrate(f->s, good, NOW + 2, &f->err), ESTALE,
	      "has the older schema 11 and cannot be written");
	ok(f, store_version(f->s, &version, &f->err));
	assert_int_equal(version, NOW);
}

/* A database as that version left it. */
static void make_version(struct fixture *f, int version, const char *rows)
{
	sqlite3 *db = NULL;
	char mark[96];

	assert_int_equal(sqlite3_open(f->db, &db), SQLITE_OK);
	for (int i = 0; i < version; i++)
		assert_int_equal(sqlite3_exec(db, store_steps[i], NULL, NULL,
					      NULL),
				 SQLITE_OK);
	(void)snprintf(mark, sizeof(mark),
		       "PRAGMA application_id = 0x726f6172;"
		       "PRAGMA user_version = %d",
		       version);
	assert_int_equal(sqlite3_exec(db, mark, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, rows, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void version_2_has_two_digests_more_and_no_digest_cache(void **state)
{
	struct fixture *f = *state;

	make_version(f, 1,
		     "INSERT INTO artifacts (blake3, size, first_seen_ns, "
		     "md5) VALUES (zeroblob(32), 7, 1, zeroblob(16));"
		     "INSERT INTO digest_cache VALUES "
		     "(1, 2, 3, 4, 5, 6, zeroblob(32), NULL, NULL, NULL);"
		     "INSERT INTO counters VALUES ('digest_cache', 3)");
	open_store(f, 0);
	assert_int_equal(count(f, "SELECT count(*) FROM sqlite_schema WHERE "
				  "name IN ('digest_cache', 'counters')"),
			 0);
	assert_int_equal(count(f, "SELECT size FROM artifacts WHERE "
				  "md5 = zeroblob(16) AND "
				  "crc64nvme IS NULL AND git_blob IS NULL"),
			 7);
	ok(f, store_check(f->s, &f->err));
	(void)add_job(f, "aaaa", "true", 1, 0);
}

/* With id 5 and the columns of version 1; /p has id 1. */
#define A_JOB                                                         \
	"INSERT INTO sessions (id, uid, created_ns) VALUES (1, 'u', " \
	"1); INSERT INTO jobs (id, session_id, kind, step, attempt, " \
	"uid, started_ns, duration_ns, status, exit_code, complete, " \
	"n_inputs, n_outputs, n_filtered, n_processes, cpu_user_ns, " \
	"cpu_system_ns, max_rss_kib, command_id, name, tracer, "      \
	"version, host, user, git_commit, git_branch, git_snapshot, " \
	"git_remote, git_root, cwd, script, command, argv) VALUES "   \
	"(5, 1, 'run', 1, 1, 'j', 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, "  \
	"1, zeroblob(16), '', 'ebpf', '', '', '', '', '', '', '', "   \
	"'', '', '', '', ''); INSERT INTO paths VALUES (1, '/p'); "

static void version_9_begins_the_history_with_the_tags_there_are(void **state)
{
	struct fixture *f = *state;

	make_version(f, 8,
		     A_JOB "INSERT INTO job_tags VALUES (5, 0, 'license', "
			   "'MIT', 0), (5, 1, 'license', '', 0)");
	open_store(f, 0);
	assert_int_equal(count(f, "SELECT sum(n) FROM tag_history WHERE "
				  "job_id = 5 AND NOT removed "
				  "AND created_ns = 2"),
			 1 + 2);
	assert_int_equal(count(f, "SELECT count(*) FROM sessions "
				  "WHERE hash IS NULL"),
			 1);
	ok(f, store_check(f->s, &f->err));
}

/* What was recorded before anybody counted. */
static void version_3_does_not_know_bytes_of_older_rows(void **state)
{
	struct fixture *f = *state;
	struct store_file *files;
	size_t n = 0;

	make_version(f, 1,
		     A_JOB "INSERT INTO job_files VALUES (5, 1, 1, 1, 0, "
			   "0, 1, 1, NULL, 1, 2, 3, 4, 5, 6, 7, 8, 9, NULL)");
	open_store(f, 0);
	ok(f, store_files(f->s, &f->pool, 5, false, &files, &n, &f->err));
	assert_int_equal(n, 1);
	assert_int_equal(files[0].writer, 9);
	assert_int_equal(files[0].bytes_read, -1);
	assert_int_equal(files[0].bytes_written, -1);
	assert_int_equal(count(f, "SELECT n_sums_lost FROM jobs"), 0);
	ok(f, store_check(f->s, &f->err));
}

static void version_5_reads_rows_of_version_4_as_before(void **state)
{
	struct fixture *f = *state;
	struct store_job_query query = { 0 };
	struct store_object *objects;
	struct store_file *files;
	struct store_job *jobs;
	size_t n = 0;

	make_version(f, 4,
		     A_JOB
		     "INSERT INTO job_files VALUES (5, 1, 1, 1, 0, 0, 1, 1, "
		     "NULL, 1, 2, 3, 4, 5, 6, 7, 8, 9, NULL, 10, 11);"
		     "INSERT INTO shards VALUES (5, 1, 7, 0, 1, 2, 'd', 's')");
	open_store(f, 0);
	ok(f, store_files(f->s, &f->pool, 5, false, &files, &n, &f->err));
	assert_int_equal(n, 1);
	assert_string_equal(files[0].path, "/p");
	assert_int_equal(files[0].n, 1);
	assert_int_equal(files[0].bytes_written, 11);
	assert_string_equal(files[0].etag, "");
	ok(f, store_jobs(f->s, &f->pool, &query, &jobs, &n, &f->err));
	assert_int_equal(n, 1);
	assert_string_equal(jobs[0].environment, "");
	ok(f, store_objects(f->s, &f->pool, 5, &objects, &n, &f->err));
	assert_int_equal(n, 0);
	assert_int_equal(count(f, "SELECT n_samples FROM shards"), 2);
	ok(f, store_check(f->s, &f->err));
}

static void version_6_reads_rows_of_version_5_as_before(void **state)
{
	struct fixture *f = *state;
	struct store_checkpoint *checkpoints;
	struct store_file *files;
	size_t n = 0;

	make_version(f, 5,
		     A_JOB
		     "INSERT INTO job_files VALUES (5, 1, 1, 1, 0, 0, 1, 1, "
		     "NULL, 1, 2, 3, 4, 5, 6, 7, 8, 9, NULL, 10, 11)");
	open_store(f, 0);
	ok(f, store_files(f->s, &f->pool, 5, false, &files, &n, &f->err));
	assert_int_equal(n, 1);
	assert_int_equal(files[0].seen, 1);
	ok(f, store_checkpoints_of_path(f->s, &f->pool, "/p", &checkpoints, &n,
					&f->err));
	assert_int_equal(n, 0);
	ok(f, store_check(f->s, &f->err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(new_database_has_the_latest_version),
		STORE_TEST(later_steps_are_applied_once_and_keep_the_rows),
		STORE_TEST(failing_step_leaves_the_old_version),
		STORE_TEST(database_newer_than_the_steps_is_refused),
		STORE_TEST(older_database_cannot_be_migrated_readonly),
		EMPTY_TEST(version_2_has_two_digests_more_and_no_digest_cache),
		EMPTY_TEST(version_9_begins_the_history_with_the_tags_there_are),
		EMPTY_TEST(version_3_does_not_know_bytes_of_older_rows),
		EMPTY_TEST(version_5_reads_rows_of_version_4_as_before),
		EMPTY_TEST(version_6_reads_rows_of_version_5_as_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
