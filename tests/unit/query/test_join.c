/* test_join.c - which records of a group are one step, and what is missing. */
#include <errno.h>
#include <string.h>

#include "query/join.h"
#include "query/query.h"
#include "record.h"
#include "store/store_edge.h"

enum { NO_RANK = -1 };

/* A record of one machine with these ranks; n_ranks NO_RANK: it has none. */
static void part(struct fixture *f, const char *uid, const char *command,
		 int64_t first, int64_t end, int64_t n_ranks)
{
	job(f, uid, command);
	process(f, 100, 0, command);
	record(f);
	assert_int_equal(store_begin(f->store, NULL), 0);
	for (int64_t i = first; i < end && n_ranks > 0; i++) {
		struct store_rank rank = { 1 + i - first, i,	      -1,
					   n_ranks,	  "torchrun", "g" };

		assert_int_equal(
			store_rank_add(f->store, f->job.id, &rank, NULL), 0);
	}
	if (n_ranks < 0) {
		struct store_group group = { "g", first, end };

		assert_int_equal(
			store_group_add(f->store, f->job.id, &group, NULL), 0);
	}
	assert_int_equal(store_commit(f->store, NULL), 0);
}

static void read_join(struct fixture *f, struct query *q, struct join *ret)
{
	struct roar_error err = { 0 };

	q->store = f->store;
	q->pool = &f->pool;
	if (join_read(q, "g", ret, &err) < 0)
		fail_msg("%s", err.text);
}

static void ranks_of_all_records_make_it_complete(void **state)
{
	struct fixture *f = *state;
	struct query q = { 0 };
	struct join join;

	part(f, "aaaa0001", "torchrun train.py", 4, 8, 8);
	part(f, "aaaa0002", "torchrun train.py", 0, 4, 8);
	read_join(f, &q, &join);
	assert_int_equal(join.n_parts, 2);
	assert_string_equal(join.parts[0].job->uid, "aaaa0002");
	assert_string_equal(join.parts[0].ranks, "0-3");
	assert_string_equal(join.missing, "");
	assert_true(join.complete);
	query_release(&q);
}

static void missing_ranks_are_named(void **state)
{
	struct fixture *f = *state;
	struct query q = { 0 };
	struct join join;

	part(f, "aaaa0001", "torchrun train.py", 2, 4, 8);
	part(f, "aaaa0002", "torchrun train.py", 5, 7, 8);
	read_join(f, &q, &join);
	assert_string_equal(join.missing, "ranks 0-1,4,7 of 8");
	assert_false(join.complete);
	query_release(&q);
}

static void a_restart_replaces_the_record_of_the_same_ranks(void **state)
{
	struct fixture *f = *state;
	struct query q = { 0 };
	struct join join;

	part(f, "aaaa0001", "torchrun train.py", 0, 1, 2);
	part(f, "aaaa0002", "torchrun train.py", 1, 2, 2);
	part(f, "aaaa0003", "torchrun train.py", 0, 1, 2);
	read_join(f, &q, &join);
	assert_int_equal(join.n_parts, 2);
	assert_string_equal(join.parts[0].job->uid, "aaaa0003");
	assert_string_equal(join.parts[1].job->uid, "aaaa0002");
	query_release(&q);
}

static void without_ranks_the_nodes_count(void **state)
{
	struct fixture *f = *state;
	struct query q = { 0 };
	struct join join;

	part(f, "aaaa0001", "run", 1, 3, NO_RANK); /* node 1 of 3 */
	read_join(f, &q, &join);
	assert_string_equal(join.missing, "nodes 0,2 of 3");
	query_release(&q);
}

/* All steps of a batch script have the id of the Slurm job. */
static void other_steps_of_the_group_stay_apart(void **state)
{
	struct fixture *f = *state;
	struct query q = { 0 };
	struct join join;

	part(f, "aaaa0001", "prepare", 0, 1, 1);
	part(f, "aaaa0002", "train", 0, 1, 1);
	read_join(f, &q, &join);
	assert_int_equal(join.n_parts, 1);
	assert_string_equal(join.parts[0].job->uid, "aaaa0002");
	query_release(&q);
}

static void a_joined_job_is_the_next_execution_of_its_step(void **state)
{
	struct fixture *f = *state;
	const struct store_job *first;
	const struct store_job *again;
	struct query q = { 0 };
	struct join_part *parts;
	struct store_gap *gaps;
	struct store_file *files;
	struct join join;
	size_t n;

	put(f, "data", "data");
	job(f, "aaaa0001", "train");
	input(f, "data");
	output(f, "shared", "made by one, read by the other");
	record(f);
	job(f, "aaaa0002", "train");
	input(f, "data");
	input(f, "shared");
	output(f, "model", "model");
	record(f);
	assert_int_equal(store_begin(f->store, NULL), 0);
	for (int64_t i = 0; i < 2; i++)
		assert_int_equal(
			store_group_add(f->store, i + 1,
					&(struct store_group){ "g", i, 3 },
					NULL),
			0);
	read_join(f, &q, &join);
	assert_int_equal(join_add(&q, &join, f->session.id, &first, NULL), 1);
	assert_int_equal(first->step, 1);
	assert_int_equal(first->attempt, 3);
	assert_int_equal(first->n_inputs, 1);
	assert_int_equal(first->n_outputs, 2);
	assert_false(first->complete);
	assert_int_equal(join_add(&q, &join, f->session.id, &again, NULL), 0);
	assert_int_equal(again->id, first->id);
	assert_int_equal(store_commit(f->store, NULL), 0);
	assert_int_equal(store_files(f->store, &f->pool, first->id, true,
				     &files, &n, NULL),
			 0);
	assert_int_equal(n, 3);
	assert_int_equal(join_parts(&q, first->id, &parts, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_int_equal(
		store_gaps(f->store, &f->pool, first->id, &gaps, &n, NULL), 0);
	assert_int_equal(n, 1);
	assert_string_equal(gaps[0].detail, "node 2 of 3");
	/* The joined job is not a part of itself later. */
	read_join(f, &q, &join);
	assert_int_equal(join.n_parts, 2);
	assert_int_equal(store_check(f->store, NULL), 0);
	query_release(&q);
}

static void a_group_without_records_is_not_found(void **state)
{
	struct fixture *f = *state;
	struct query q = { .store = f->store, .pool = &f->pool };
	struct roar_error err = { 0 };
	struct join join;
	const char *group;

	assert_int_equal(join_read(&q, "g", &join, &err), -ENOENT);
	assert_non_null(strstr(err.text, "'g'"));
	assert_int_equal(join_newest_group(&q, &group, NULL), 0);
	assert_string_equal(group, "");
	query_release(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(ranks_of_all_records_make_it_complete),
		FIXTURE_TEST(missing_ranks_are_named),
		FIXTURE_TEST(a_restart_replaces_the_record_of_the_same_ranks),
		FIXTURE_TEST(without_ranks_the_nodes_count),
		FIXTURE_TEST(other_steps_of_the_group_stay_apart),
		FIXTURE_TEST(a_joined_job_is_the_next_execution_of_its_step),
		FIXTURE_TEST(a_group_without_records_is_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
