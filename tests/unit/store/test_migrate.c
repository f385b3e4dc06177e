/* test_migrate.c - steps between versions of the schema. */
#include "fixture.h"

static const char *const good[] = {
	NULL, /* versions 1 and 2 are what the store made */
	NULL,
	"ALTER TABLE jobs ADD COLUMN extra INTEGER NOT NULL DEFAULT 9",
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
	ok(f, store_migrate(f->s, good, 4, &f->err));
	ok(f, store_migrate(f->s, good, 4, &f->err));
	ok(f, store_version(f->s, &version, &f->err));
	assert_int_equal(version, 4);
	assert_int_equal(count(f, "SELECT extra FROM jobs"), 9);
	assert_int_equal(count(f, "SELECT count(*) FROM later"), 1);
}

static void failing_step_leaves_the_old_version(void **state)
{
	struct fixture *f = *state;
	const char *const bad[] = { NULL, NULL, good[2],
				    "CREATE TABLE jobs (a)" };
	int version = 0;

	(void)add_job(f, "aaaa", "true", 1, 0);
	fails(f, store_migrate(f->s, bad, 4, &f->err), EUCLEAN,
	      "is not laid out as roar expects (table jobs already exists)");
	ok(f, store_version(f->s, &version, &f->err));
	assert_int_equal(version, 2);
	assert_int_equal(count(f, "SELECT count(*) FROM "
				  "pragma_table_info('jobs') "
				  "WHERE name = 'extra'"),
			 0);
	(void)add_job(f, "bbbb", "true", 1, 0);
}

static void database_newer_than_the_steps_is_refused(void **state)
{
	struct fixture *f = *state;

	ok(f, store_migrate(f->s, good, 4, &f->err));
	fails(f, store_migrate(f->s, good, 3, &f->err), ENOTSUP,
	      "(schema 4, this one knows 3)");
	ok(f, store_exec(f->s, "PRAGMA user_version = -1", &f->err));
	fails(f, store_migrate(f->s, good, 3, &f->err), ENOTSUP, "newer");
}

static void older_database_cannot_be_migrated_readonly(void **state)
{
	struct fixture *f = *state;
	int version = 0;

	reopen(f, STORE_READONLY);
	fails(f, store_migrate(f->s, good, 4, &f->err), ESTALE,
	      "has the older schema 2 and cannot be written");
	ok(f, store_version(f->s, &version, &f->err));
	assert_int_equal(version, 2);
}

/* A database as version 1 left it. */
static void make_version_1(struct fixture *f, const char *rows)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(f->db, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, store_steps[0], NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "PRAGMA application_id = 0x726f6172;"
				      "PRAGMA user_version = 1",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, rows, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void version_2_has_two_digests_more_and_no_digest_cache(void **state)
{
	struct fixture *f = *state;

	make_version_1(f, "INSERT INTO artifacts (blake3, size, first_seen_ns, "
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(new_database_has_the_latest_version),
		STORE_TEST(later_steps_are_applied_once_and_keep_the_rows),
		STORE_TEST(failing_step_leaves_the_old_version),
		STORE_TEST(database_newer_than_the_steps_is_refused),
		STORE_TEST(older_database_cannot_be_migrated_readonly),
		EMPTY_TEST(version_2_has_two_digests_more_and_no_digest_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
