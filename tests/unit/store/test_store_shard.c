/* test_shard.c - shards that a job has consumed, row for row. */
#include "fixture.h"

static void rows_come_back_in_order_and_go_with_their_job(void **state)
{
	const struct store_shard rank_0 = { 11, 0, 3, 100, "train", "/d/0.tar" };
	const struct store_shard alone = { 12, -1, 0, 0, "a\tb", "/d/\xff" };
	struct fixture *f = *state;
	int64_t first = add_job(f, "a1", "x", 1, 0);
	int64_t second = add_job(f, "a2", "y", 2, 0);
	struct store_shard *rows;
	size_t n;

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_shard_add(f->s, first, &rank_0, &f->err));
	ok(f, store_shard_add(f->s, first, &alone, &f->err));
	ok(f, store_shard_add(f->s, second, &rank_0, &f->err));
	ok(f, store_commit(f->s, &f->err));
	ok(f, store_shards(f->s, &f->pool, first, &rows, &n, &f->err));
	assert_int_equal(n, 2);
	assert_int_equal(rows[0].pid, 11);
	assert_int_equal(rows[0].rank, 0);
	assert_int_equal(rows[0].epoch, 3);
	assert_int_equal(rows[0].n_samples, 100);
	assert_string_equal(rows[0].dataset, "train");
	assert_string_equal(rows[0].path, "/d/0.tar");
	assert_int_equal(rows[1].rank, -1);
	assert_string_equal(rows[1].dataset, "a\tb");
	assert_string_equal(rows[1].path, "/d/\xff");

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_job_remove(f->s, first, &f->err));
	ok(f, store_commit(f->s, &f->err));
	ok(f, store_shards(f->s, &f->pool, first, &rows, &n, &f->err));
	assert_int_equal(n, 0);
	ok(f, store_shards(f->s, &f->pool, second, &rows, &n, &f->err));
	assert_int_equal(n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(rows_come_back_in_order_and_go_with_their_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
