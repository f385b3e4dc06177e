/* test_store_checkpoint.c - checkpoints of a job and the samples that fed them. */
#include "fixture.h"

static void add_shard(struct fixture *f, int64_t job, int64_t checkpoint,
		      int64_t rank, int64_t n_samples, const char *path)
{
	const struct store_shard row = { 0, rank, 0, n_samples, "set", path };

	ok(f, store_checkpoint_shard_add(f->s, job, checkpoint, &row, &f->err));
}

static void shards_count_up_to_a_checkpoint_and_go_with_their_job(void **state)
{
	struct store_checkpoint row = {
		.n = 1,
		.pid = 11,
		.step = 100,
		.world_size = 2,
		.committed_ns = 12345,
		.n_shards = 2,
		.n_samples = 30,
		.manifest = { 1, 2, 3 },
		.parent = "",
		.path = "/c/step-000000000100",
	};
	struct store_checkpoint *found;
	struct store_shard *shards;
	struct fixture *f = *state;
	int64_t id = add_job(f, "a1", "x", 1, 0);
	size_t n;

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_checkpoint_add(f->s, id, &row, &f->err));
	row.n = 2;
	row.parent = "step-000000000100";
	row.path = "/c/step-000000000200";
	ok(f, store_checkpoint_add(f->s, id, &row, &f->err));
	add_shard(f, id, 1, 0, 10, "/a");
	add_shard(f, id, 1, -1, 20, "/a");
	add_shard(f, id, 2, 0, 15, "/a");
	add_shard(f, id, 2, 1, 5, "/b\xff");
	ok(f, store_commit(f->s, &f->err));

	ok(f, store_checkpoints_of_path(f->s, &f->pool, "/c/step-000000000200",
					&found, &n, &f->err));
	assert_int_equal(n, 1);
	assert_int_equal(found->job_id, id);
	assert_int_equal(found->n, 2);
	assert_int_equal(found->pid, 11);
	assert_int_equal(found->step, 100);
	assert_int_equal(found->world_size, 2);
	assert_int_equal(found->committed_ns, 12345);
	assert_int_equal(found->n_shards, 2);
	assert_int_equal(found->n_samples, 30);
	assert_int_equal(found->manifest[2], 3);
	assert_string_equal(found->parent, "step-000000000100");
	ok(f, store_checkpoint_shards(f->s, &f->pool, found, &shards, &n,
				      &f->err));
	assert_int_equal(n, 3);
	assert_int_equal(shards[0].rank, -1);
	assert_int_equal(shards[0].n_samples, 20);
	assert_int_equal(shards[1].rank, 0);
	assert_int_equal(shards[1].n_samples, 15);
	assert_string_equal(shards[2].path, "/b\xff");

	found->n = 1;
	ok(f, store_checkpoint_shards(f->s, &f->pool, found, &shards, &n,
				      &f->err));
	assert_int_equal(n, 2);
	assert_int_equal(shards[1].n_samples, 10);

	ok(f, store_begin(f->s, &f->err));
	ok(f, store_job_remove(f->s, id, &f->err));
	ok(f, store_commit(f->s, &f->err));
	ok(f, store_checkpoint_shards(f->s, &f->pool, found, &shards, &n,
				      &f->err));
	assert_int_equal(n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(
			shards_count_up_to_a_checkpoint_and_go_with_their_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
