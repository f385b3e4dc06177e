/* test_migrate.c - steps between versions of the schema. */
#include "fixture.h"

static const char *const good[] = {
	NULL, /* version 1 is what the store made */
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
	ok(f, store_migrate(f->s, good, 3, &f->err));
	ok(f, store_migrate(f->s, good, 3, &f->err));
	ok(f, store_version(f->s, &version, &f->err));
	assert_int_equal(version, 3);
	assert_int_equal(count(f, "SELECT extra FROM jobs"), 9);
	assert_int_equal(count(f, "SELECT count(*) FROM later"), 1);
}

static void failing_step_leaves_the_old_version(void **state)
{
	struct fixture *f = *state;
	const char *const bad[] = { NULL, good[1], "CREATE TABLE jobs (a)" };
	int version = 0;

	(void)add_job(f, "aaaa", "true", 1, 0);
	fails(f, store_migrate(f->s, bad, 3, &f->err), EUCLEAN,
	      "is not laid out as roar expects (table jobs already exists)");
	ok(f, store_version(f->s, &version, &f->err));
	assert_int_equal(version, 1);
	assert_int_equal(count(f, "SELECT count(*) FROM "
				  "pragma_table_info('jobs') "
				  "WHERE name = 'extra'"),
			 0);
	(void)add_job(f, "bbbb", "true", 1, 0);
}

static void database_newer_than_the_steps_is_refused(void **state)
{
	struct fixture *f = *state;

	ok(f, store_migrate(f->s, good, 3, &f->err));
	fails(f, store_migrate(f->s, good, 2, &f->err), ENOTSUP,
	      "(schema 3, this one knows 2)");
	ok(f, store_exec(f->s, "PRAGMA user_version = -1", &f->err));
	fails(f, store_migrate(f->s, good, 2, &f->err), ENOTSUP, "newer");
}

static void older_database_cannot_be_migrated_readonly(void **state)
{
	struct fixture *f = *state;
	int version = 0;

	reopen(f, STORE_READONLY);
	fails(f, store_migrate(f->s, good, 3, &f->err), EROFS,
	      "has the older schema 1 and cannot be written");
	ok(f, store_version(f->s, &version, &f->err));
	assert_int_equal(version, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(new_database_has_the_latest_version),
		STORE_TEST(later_steps_are_applied_once_and_keep_the_rows),
		STORE_TEST(failing_step_leaves_the_old_version),
		STORE_TEST(database_newer_than_the_steps_is_refused),
		STORE_TEST(older_database_cannot_be_migrated_readonly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
