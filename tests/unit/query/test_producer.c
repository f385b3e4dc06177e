/* test_producer.c - which job made a content. */
#include <string.h>
#include <unistd.h>

#include "query/producer.h"
#include "query/query.h"
#include "query/target.h"
#include "sample.h"

/* The rows of the job with that UID. */
static struct store_file *rows_of(struct fixture *f, const char *uid, size_t *n)
{
	struct store_job_query query = { .uid_prefix = uid };
	struct roar_error err = { 0 };
	struct store_file *rows;
	struct store_job *jobs;

	assert_int_equal(store_jobs(f->store, &f->pool, &query, &jobs, n, &err),
			 0);
	assert_int_equal(*n, 1);
	assert_int_equal(store_files(f->store, &f->pool, jobs->id, false, &rows,
				     n, &err),
			 0);
	return rows;
}

static void expect_maker(struct fixture *f, const struct store_file *row,
			 const char *uid)
{
	struct query q = { .store = f->store, .pool = &f->pool };
	const struct store_job *maker;
	struct roar_error err = { 0 };

	assert_int_equal(producer_find(&q, row, &maker, &err), 0);
	if (uid)
		assert_string_equal(maker->uid, uid);
	else
		assert_null(maker);
	query_release(&q);
}

static void an_input_comes_from_the_job_that_wrote_it(void **state)
{
	struct fixture *f = *state;
	struct store_file *rows;
	size_t n;

	record_pipeline(f);
	rows = rows_of(f, "bbbb0002", &n);
	for (size_t i = 0; i < n; i++) {
		if (rows[i].role != LINEAGE_INPUT)
			continue;
		expect_maker(f, &rows[i],
			     strstr(rows[i].path, "raw.csv") ? NULL :
							       "aaaa0001");
	}
}

static void what_was_moved_comes_from_who_wrote_it(void **state)
{
	struct fixture *f = *state;
	struct store_file *rows;
	size_t n;

	record_moves(f);
	rows = rows_of(f, "cccc0003", &n);
	assert_int_equal(n, 1);
	assert_true(producer_is_moved(rows));
	expect_maker(f, rows, "bbbb0002");
	rows = rows_of(f, "bbbb0002", &n);
	assert_true(producer_is_moved(rows));
	expect_maker(f, rows, "aaaa0001");
	rows = rows_of(f, "aaaa0001", &n);
	assert_false(producer_is_moved(rows));
}

static void the_newest_maker_at_the_named_path_is_preferred(void **state)
{
	struct fixture *f = *state;
	struct query q = { .store = f->store, .pool = &f->pool };
	const struct store_job *maker;
	struct roar_error err = { 0 };
	struct target t;

	record_made(f, "aaaa0001", "make a", NULL, "a", "same");
	record_made(f, "bbbb0002", "make b", NULL, "b", "same");
	assert_int_equal(target_resolve(&q, f->dir, "a", TARGET_ANY, &t, &err),
			 0);
	assert_int_equal(
		producer_find_newest(&q, t.artifact.id, NULL, &maker, &err), 0);
	assert_string_equal(maker->uid, "bbbb0002");
	assert_int_equal(producer_find_newest(&q, t.artifact.id, t.path, &maker,
					      &err),
			 0);
	assert_string_equal(maker->uid, "aaaa0001");
	query_release(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(an_input_comes_from_the_job_that_wrote_it),
		FIXTURE_TEST(what_was_moved_comes_from_who_wrote_it),
		FIXTURE_TEST(the_newest_maker_at_the_named_path_is_preferred),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
