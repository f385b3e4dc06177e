/* test_foreign.c - what other programs have recorded, as jobs. */
#include "record.h"

#include <string.h>

#include "foreign/foreign.h"
#include "lineage/redact.h"

static const char lock[] =
	"schema: '2.0'\n"
	"stages:\n"
	"  train:\n"
	"    cmd: python train.py --token=s3cr3t-value\n"
	"    deps:\n"
	"    - path: data.csv\n"
	"      hash: md5\n"
	"      md5: 8d777f385d3dfec8815d20f7496026dc\n" /* of "data" */
	"      size: 4\n"
	"    - path: gone.csv\n"
	"      md5: 00000000000000000000000000000000\n"
	"      size: 9\n"
	"    params:\n"
	"      params.yaml:\n"
	"        lr: 0.1\n"
	"    outs:\n"
	"    - md5: 11111111111111111111111111111111\n"
	"      path: model.pt\n"
	"  two:\n"
	"    cmd:\n"
	"    - a\n"
	"    - b\n";

static void stages_of_dvc_are_runs(void **state)
{
	struct foreign_runs runs = FOREIGN_RUNS_INIT;
	struct fixture *f = *state;
	struct roar_error err = { 0 };

	if (foreign_read_dvc(&f->pool, lock, strlen(lock), "/p", &runs, &err) <
	    0)
		fail_msg("%s", err.text);
	assert_int_equal(runs.n, 2);
	assert_string_equal(runs.list[0].name, "train");
	assert_int_equal(runs.list[0].n_files, 3);
	assert_string_equal(runs.list[0].files[0].path, "/p/data.csv");
	assert_int_equal(runs.list[0].files[0].size, 4);
	assert_true(runs.list[0].files[2].is_output);
	assert_string_equal(runs.list[1].command, "a && b");
	foreign_release(&runs);
}

static void what_is_not_a_lock_is_refused(void **state)
{
	static const char *const bad[][2] = {
		{ "", "it has no 'stages'" },
		{ "a: 1\n", "it has no 'stages'" },
		{ "stages: [", "is not YAML" },
		{ "stages:\n  a: &x\n    cmd: b\n  c: *x\n", "has an alias" },
		{ "stages: [[[[[[[[[[[[[[[[[[", "deeper than" },
		{ "stages: \"a\\0b\"\n", "has a NUL" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct foreign_runs runs = FOREIGN_RUNS_INIT;
		struct roar_error err = { 0 };

		assert_int_equal(foreign_read_dvc(&f->pool, bad[i][0],
						  strlen(bad[i][0]), "/p",
						  &runs, &err),
				 -EINVAL);
		if (!strstr(err.text, bad[i][1]))
			fail_msg("'%s' of '%s'", err.text, bad[i][0]);
	}
}

static const char events[] =
	"{\"eventType\":\"START\",\"eventTime\":\"2026-01-02T03:04:05.5Z\","
	"\"run\":{\"runId\":\"r1\"},\"job\":{\"namespace\":\"airflow\","
	"\"name\":\"dag.task\"},\"inputs\":[{\"namespace\":\"s3://bucket\","
	"\"name\":\"raw/a\"}]}\n"
	"{\"eventType\":\"FAIL\",\"eventTime\":\"2026-01-02T04:04:06.5+01:00\","
	"\"run\":{\"runId\":\"r1\"},\"job\":{\"namespace\":\"airflow\","
	"\"name\":\"dag.task\"},\"inputs\":[{\"namespace\":\"s3://bucket\","
	"\"name\":\"raw/a\"}],\"outputs\":[{\"namespace\":\"file\",\"name\":"
	"\"/out\",\"facets\":{\"version\":{\"datasetVersion\":\"blake3:"
	"0101010101010101010101010101010101010101010101010101010101010101"
	"\"}}}]}\n"
	"{\"job\":{\"namespace\":\"x\",\"name\":\"y\"}}\n";

static void events_of_one_run_are_one_run(void **state)
{
	struct foreign_runs runs = FOREIGN_RUNS_INIT;
	struct fixture *f = *state;
	struct roar_error err = { 0 };
	const struct foreign_run *run;

	if (foreign_read_openlineage(&f->pool, events, strlen(events), &runs,
				     &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(runs.n, 1);
	run = &runs.list[0];
	assert_string_equal(run->name, "airflow/dag.task");
	assert_int_equal(run->ended_ns - run->started_ns, 1000000000);
	assert_int_equal(run->exit_code, 1);
	assert_int_equal(run->n_files, 2);
	assert_string_equal(run->files[0].path, "s3://bucket/raw/a");
	assert_true(run->files[0].is_remote);
	assert_int_equal(run->files[1].digests.have, DIGEST_SET_BLAKE3);
	foreign_release(&runs);
}

static void an_array_of_events_is_read_too(void **state)
{
	static const char text[] = " [{\"run\":{\"runId\":\"a\"}},"
				   "{\"run\":{\"runId\":\"b\"}}] ";
	struct foreign_runs runs = FOREIGN_RUNS_INIT;
	struct fixture *f = *state;
	struct roar_error err = { 0 };

	assert_int_equal(foreign_read_openlineage(&f->pool, text, strlen(text),
						  &runs, &err),
			 0);
	assert_int_equal(runs.n, 2);
	assert_string_equal(runs.list[0].name, "?/?");
	foreign_release(&runs);
	assert_int_equal(foreign_read_openlineage(&f->pool, "[1]", 3, &runs,
						  &err),
			 -EINVAL);
	assert_int_equal(foreign_read_openlineage(&f->pool, "{", 1, &runs, &err),
			 -EINVAL);
}

/* Content that is here is identified; a second import changes nothing; secrets do not
 * reach the record. */
static void runs_become_jobs_once(void **state)
{
	struct foreign_runs runs = FOREIGN_RUNS_INIT;
	CLEANUP(redact_freep) struct redact *redact = NULL;
	struct fixture *f = *state;
	struct roar_error err = { 0 };
	struct store_file *files;
	struct store_job *jobs;
	struct store_gap *gaps;
	size_t n_new, n_known, n;

	put(f, "data.csv", "data");
	assert_int_equal(redact_new(NULL, NULL, 0, &redact), 0);
	assert_int_equal(foreign_read_dvc(&f->pool, lock, strlen(lock), f->dir,
					  &runs, &err),
			 0);
	if (foreign_record(f->store, &runs, redact, "0", &n_new, &n_known,
			   &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(n_new, 2);
	assert_int_equal(foreign_record(f->store, &runs, redact, "0", &n_new,
					&n_known, &err),
			 0);
	assert_int_equal(n_new, 0);
	assert_int_equal(n_known, 2);
	assert_int_equal(store_jobs(f->store, &f->pool,
				    &(struct store_job_query){ 0 }, &jobs, &n,
				    &err),
			 0);
	assert_int_equal(n, 2);
	assert_string_equal(jobs[0].tracer, "dvc");
	assert_false(jobs[0].complete);
	assert_null(strstr(jobs[0].command, "s3cr3t"));
	assert_string_equal(jobs[0].argv, "[]");
	assert_int_equal(
		store_gaps(f->store, &f->pool, jobs[0].id, &gaps, &n, &err), 0);
	assert_int_equal(gaps[0].code, EVENT_GAP_UNTRACED);
	assert_int_equal(store_files(f->store, &f->pool, jobs[0].id, false,
				     &files, &n, &err),
			 0);
	assert_int_equal(n, 3);
	assert_true(files[0].artifact_id > 0);
	assert_int_equal(files[1].artifact_id, 0);
	foreign_release(&runs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(stages_of_dvc_are_runs),
		FIXTURE_TEST(what_is_not_a_lock_is_refused),
		FIXTURE_TEST(events_of_one_run_are_one_run),
		FIXTURE_TEST(an_array_of_events_is_read_too),
		FIXTURE_TEST(runs_become_jobs_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
