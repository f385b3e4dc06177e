/* test_variant.c - in what the executions of a step differ. */
#include <string.h>

#include "query/query.h"
#include "query/variant.h"
#include "sample.h"

/* In what the job with that UID differs from the execution before it. */
static const char *words(struct fixture *f, const char *uid, bool names)
{
	struct query q = { .store = f->store, .pool = &f->pool };
	struct store_job_query by_uid = { .uid_prefix = uid };
	struct roar_error err = { 0 };
	struct str text = STR_INIT;
	struct store_job *job;
	struct variant v;
	const char *copy;
	size_t n;

	assert_int_equal(
		store_jobs(f->store, &f->pool, &by_uid, &job, &n, &err), 0);
	assert_int_equal(n, 1);
	assert_int_equal(variant_find(&q, job, 0, &v, &err), 0);
	variant_words(&v, names, &text);
	assert_int_equal(variant_is_one(&v), text.len > 0);
	copy = pool_strdup(&f->pool, v.before ? str_cstr(&text) : "first");
	str_release(&text);
	query_release(&q);
	return copy;
}

static void record_train(struct fixture *f, const char *uid,
			 const char *command)
{
	job(f, uid, command);
	/* The outputs are the same, so it is the same step. */
	memset(f->job.output_id, 7, sizeof(f->job.output_id));
	input(f, "train.py");
	input(f, "data.csv");
	output(f, "model.pt", uid);
	record(f);
}

static void executions_are_compared_with_the_one_before(void **state)
{
	struct fixture *f = *state;

	put(f, "train.py", "code");
	put(f, "data.csv", "1");
	record_train(f, "aaaa0001", "python train.py");
	record_train(f, "bbbb0002", "python train.py");
	assert_string_equal(words(f, "aaaa0001", true), "first");
	assert_string_equal(words(f, "bbbb0002", true), "");
	put(f, "data.csv", "22");
	record_train(f, "cccc0003", "python train.py");
	assert_string_equal(words(f, "cccc0003", true), "inputs (data.csv)");
	put(f, "data.csv", "333");
	put(f, "train.py", "better code");
	record_train(f, "dddd0004", "python train.py");
	assert_string_equal(words(f, "dddd0004", true),
			    "code (train.py), inputs (data.csv)");
	assert_string_equal(words(f, "dddd0004", false), "code, inputs");
}

static void many_files_are_counted(void **state)
{
	static const char *const names[] = { "a", "b", "c", "d", "e" };
	struct fixture *f = *state;

	for (int k = 0; k < 2; k++) {
		job(f, k ? "bbbb0002" : "aaaa0001", "join");
		for (size_t i = 0; i < 5; i++) {
			put(f, names[i], k ? "22" : "1");
			input(f, names[i]);
		}
		record(f);
	}
	assert_string_equal(words(f, "bbbb0002", true),
			    "inputs (a, b, c, 2 more)");
}

static void a_restored_execution_leads_to_the_one_that_ran(void **state)
{
	struct fixture *f = *state;
	struct query q = { .store = f->store, .pool = &f->pool };
	struct store_job_query latest = { .latest_only = true };
	const struct store_job *from;
	struct roar_error err = { 0 };
	struct store_job *jobs;
	size_t n;

	record_made(f, "aaaa0001", "make", NULL, "out", "one");
	record_made(f, "bbbb0002", "make", NULL, "out", "two");
	job(f, "cccc0003", "make");
	f->job.tracer = "restore";
	output(f, "out", "one");
	record(f);
	assert_int_equal(
		store_jobs(f->store, &f->pool, &latest, &jobs, &n, &err), 0);
	assert_int_equal(n, 1);
	assert_true(variant_is_restored(jobs));
	assert_int_equal(variant_restored_from(&q, jobs, &from, &err), 0);
	assert_non_null(from);
	assert_string_equal(from->uid, "aaaa0001");
	query_release(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(executions_are_compared_with_the_one_before),
		FIXTURE_TEST(many_files_are_counted),
		FIXTURE_TEST(a_restored_execution_leads_to_the_one_that_ran),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
