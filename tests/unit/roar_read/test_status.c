/* test_status.c */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

/* Everything behind the line of the DAG hash. */
static void expect_status(struct fixture *f, const char *expected)
{
	const char *behind;

	assert_int_equal(roar(f, &cmd_status, ""), 0);
	behind = strstr(str_cstr(&f->out), "Build steps:");
	assert_non_null(behind);
	assert_string_equal(behind, expected);
}

static void an_empty_session_has_no_artifacts(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(roar(f, &cmd_status, ""), 0);
	assert_memory_equal(str_cstr(&f->out),
			    "Session: SESSION\nDAG hash: ", 27);
	expect_status(f, "Build steps: 0\n"
			 "Run steps: 0\n"
			 "Last job: none\n"
			 "Stale steps: none\n"
			 "Outdated steps: none\n"
			 "\n"
			 "No tracked artifacts.\n");
}

static void outputs_are_tracked(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	expect_status(
		f,
		"Build steps: 0\n"
		"Run steps: 3\n"
		"Last job: cccc0003 @3 OK (complete) python evaluate.py\n"
		"Stale steps: none\n"
		"Outdated steps: none\n"
		"\n"
		"Tracked artifacts\n"
		"  Present   b363e9bc5a3b  8 B         features.bin\n"
		"  Present   23528095ca5b  9 B         model.pt\n"
		"  Present   a7c4d54776fc  3 B         metrics.json\n"
		"Total: 3 artifacts, 20 B (3 present, 0 changed, 0 missing)\n");
}

static void a_file_that_was_moved_away_is_not_missing(void **state)
{
	struct fixture *f = *state;

	record_moves(f);
	expect_part(f, &cmd_status, "", "(2 present, 0 changed, 0 missing)\n");
	assert_int_equal(unlink("yy"), 0); /* linked, not moved */
	expect_part(f, &cmd_status, "", "(1 present, 0 changed, 1 missing)\n");
}

static void changed_and_missing_files_are_told(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	put(f, "model.pt", "model two");
	put(f, "features.bin", "longer than before");
	assert_int_equal(unlink("metrics.json"), 0);
	expect_part(
		f, &cmd_status, "",
		"  Changed   b363e9bc5a3b  8 B         features.bin\n"
		"  Changed   23528095ca5b  9 B         model.pt\n"
		"  Missing   a7c4d54776fc  3 B         metrics.json\n"
		"Total: 3 artifacts, 20 B (0 present, 2 changed, 1 missing)\n");
}

static void a_touched_file_is_still_present(void **state)
{
	struct fixture *f = *state;
	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

	record_pipeline(f);
	assert_int_equal(utimensat(AT_FDCWD, "model.pt", times, 0), 0);
	expect_part(f, &cmd_status, "",
		    "  Present   23528095ca5b  9 B         model.pt\n");
}

static void a_large_touched_file_is_not_read(void **state)
{
	struct fixture *f = *state;
	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

	job(f, "aaaa0001", "truncate -s 64M big");
	put(f, "big", "");
	assert_int_equal(truncate("big", 64 << 20), 0);
	file(f, "big", LINEAGE_OUTPUT)->seen = LINEAGE_CREATED;
	record(f);
	expect_part(f, &cmd_status, "", "  Present   ");
	assert_int_equal(utimensat(AT_FDCWD, "big", times, 0), 0);
	expect_part(f, &cmd_status, "", "  Changed?  ");
	expect_part(f, &cmd_status, "",
		    "(0 present, 0 changed, 0 missing, 1 not verified)\n");
	expect_part(f, &cmd_show, "big", "  present     big\n");
}

static void a_rerun_upstream_makes_the_rest_stale(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	record_prepare(f, "dddd0004", "features, better");
	expect_status(
		f,
		"Build steps: 0\nRun steps: 3\nLast job: dddd0004 @1 OK "
		"(complete) python prepare.py raw.csv\nStale steps: @2, "
		"@3\nOutdated steps: none\n\nTracked artifacts\n  Present   23528095ca5b  9 B         "
		"model.pt *\n  Present   a7c4d54776fc  3 B         "
		"metrics.json *\n  Present   53d942740139  16 B        "
		"features.bin\nTotal: 3 artifacts, 28 B (3 present, 0 "
		"changed, 0 missing)\n* written by a stale step\n");
	expect_part(f, &cmd_status, "--json",
		    "  \"stale_steps\": [\n    \"@2\",\n    \"@3\"\n  ],\n");
}

static void jobs_without_files_need_no_graph(void **state)
{
	struct fixture *f = *state;

	job(f, "aaaa0001", "true 1");
	record(f);
	job(f, "bbbb0002", "true 2");
	record(f);
	expect_status(f, "Build steps: 0\n"
			 "Run steps: 2\n"
			 "Last job: bbbb0002 @2 OK (complete) true 2\n"
			 "Stale steps: none\n"
			 "Outdated steps: none\n"
			 "\n"
			 "No tracked artifacts.\n");
	expect_part(f, &cmd_status, "--json", "\"bbbb0002\"");
	expect_part(
		f, &cmd_status, "--json",
		"  \"stale_steps\": [],\n  \"outdated_steps\": [],\n  \"artifacts\": [],\n");
}

static void the_verdict_of_the_last_job_is_told(void **state)
{
	struct fixture *f = *state;

	job(f, "aaaa0001", "train");
	f->job.exit_code = 2;
	gap(f, EVENT_GAP_LOST, "", 1);
	record(f);
	expect_part(f, &cmd_status, "",
		    "Last job: aaaa0001 @1 FAIL (incomplete) train\n");
}

static void json_has_totals(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	expect_part(f, &cmd_status, "--json",
		    "  \"totals\": {\n"
		    "    \"artifacts\": 3,\n"
		    "    \"size_bytes\": 20,\n"
		    "    \"present\": 3,\n"
		    "    \"changed\": 0,\n"
		    "    \"missing\": 0,\n"
		    "    \"unverified\": 0,\n"
		    "    \"remote\": 0\n"
		    "  }\n"
		    "}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(an_empty_session_has_no_artifacts),
		FIXTURE_TEST(outputs_are_tracked),
		FIXTURE_TEST(a_file_that_was_moved_away_is_not_missing),
		FIXTURE_TEST(changed_and_missing_files_are_told),
		FIXTURE_TEST(a_touched_file_is_still_present),
		FIXTURE_TEST(a_large_touched_file_is_not_read),
		FIXTURE_TEST(a_rerun_upstream_makes_the_rest_stale),
		FIXTURE_TEST(jobs_without_files_need_no_graph),
		FIXTURE_TEST(the_verdict_of_the_last_job_is_told),
		FIXTURE_TEST(json_has_totals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
