/* test_left_out.c - files that are not in a snapshot, row for row. */
#include "fixture.h"

static void add(struct fixture *f, int64_t job, const char *path,
		const char *reason)
{
	const struct store_left_out row = { path, reason };

	ok(f, store_left_out_add(f->s, job, &row, &f->err));
}

static void rows_come_back_in_order_and_go_with_their_job(void **state)
{
	struct fixture *f = *state;
	int64_t first = add_job(f, "a1", "x", 1, 0);
	int64_t second = add_job(f, "a2", "y", 2, 0);
	struct store_left_out *rows;
	size_t n;

	ok(f, store_begin(f->s, &f->err));
	add(f, first, "z\nz", "credentials");
	add(f, first, "a/", "installed packages");
	add(f, second, "b", "too large");
	ok(f, store_commit(f->s, &f->err));
	ok(f, store_left_out(f->s, &f->pool, first, &rows, &n, &f->err));
	assert_int_equal(n, 2);
	assert_string_equal(rows[0].path, "z\nz");
	assert_string_equal(rows[0].reason, "credentials");
	assert_string_equal(rows[1].path, "a/");

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_job_remove(f->s, first, &f->err));
	ok(f, store_commit(f->s, &f->err));
	ok(f, store_left_out(f->s, &f->pool, first, &rows, &n, &f->err));
	assert_int_equal(n, 0);
	ok(f, store_left_out(f->s, &f->pool, second, &rows, &n, &f->err));
	assert_int_equal(n, 1);
}

static void what_is_not_known_of_a_tree_stays_so(void **state)
{
	static const enum tri values[] = { TRI_UNKNOWN, TRI_NO, TRI_YES };
	struct fixture *f = *state;

	for (size_t i = 0; i < 3; i++) {
		char uid[9] = { 'a', (char)('0' + i), '\0' };
		struct store_job_query query = { .limit = 1 };
		struct store_job *back;
		struct store_job job;
		size_t n;

		ok(f, store_begin(f->s, &f->err));
		job = a_job(f, uid, "x", (uint8_t)(i + 1), 0);
		job.git_dirty = values[i];
		ok(f, store_job_add(f->s, &job, &f->err));
		ok(f, store_commit(f->s, &f->err));
		ok(f, store_jobs(f->s, &f->pool, &query, &back, &n, &f->err));
		assert_int_equal(n, 1);
		assert_int_equal(back->git_dirty, values[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(rows_come_back_in_order_and_go_with_their_job),
		STORE_TEST(what_is_not_known_of_a_tree_stays_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
