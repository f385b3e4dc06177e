/* test_log.c */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#define HEADS "UID       STEP  TIMESTAMP            DURATION  STATUS  COMMAND\n"

static void an_empty_session_has_no_entries(void **state)
{
	expect(*state, &cmd_log, "", 0, "No log entries found.\n", "");
}

static void jobs_are_listed_oldest_first(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	expect(f, &cmd_log, "", 0,
	       "Job Log (3 jobs)\n\n" HEADS
	       "aaaa0001  @1    2023-11-14 22:14:20  1.5 s     OK      python prepare.py raw.csv\n"
	       "bbbb0002  @2    2023-11-14 22:15:20  1.5 s     OK      python train.py --epochs 10\n"
	       "cccc0003  @3    2023-11-14 22:16:20  1.5 s     OK      python evaluate.py\n",
	       "");
}

static void failures_interruptions_and_gaps_show_in_the_status(void **state)
{
	struct fixture *f = *state;

	job(f, "aaaa0001", "false");
	f->job.exit_code = 1;
	record(f);
	job(f, "bbbb0002", "make");
	f->job.kind = "build";
	f->job.status = STORE_INTERRUPTED;
	f->job.exit_code = 130;
	gap(f, EVENT_GAP_INTERRUPTED, "", 1);
	record(f);
	expect(f, &cmd_log, "", 0,
	       "Job Log (2 jobs)\n\n" HEADS
	       "aaaa0001  @1    2023-11-14 22:14:20  1.5 s     FAIL    "
	       "false\nbbbb0002  @B1   2023-11-14 22:15:20  1.5 s     INT*    "
	       "make\n\n* the record is incomplete; 'roar show UID' gives "
	       "the reasons\n",
	       "");
}

static void n_lists_the_newest(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	expect(f, &cmd_log, "-n 1", 0,
	       "Job Log (3 jobs, last 1)\n\n" HEADS
	       "cccc0003  @3    2023-11-14 22:16:20  1.5 s     OK      python evaluate.py\n",
	       "");
}

static void search_finds_words_of_the_command(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	expect(f, &cmd_log, "--search evaluate", 0,
	       "Job Log (1 job)\n\n" HEADS
	       "cccc0003  @3    2023-11-14 22:16:20  1.5 s     OK      python evaluate.py\n",
	       "");
	expect(f, &cmd_log, "--search nothing", 0, "No log entries found.\n",
	       "");
}

static void long_and_odd_commands_are_cut_and_made_printable(void **state)
{
	struct fixture *f = *state;
	static char command[4096];

	memset(command, 'x', sizeof(command) - 1);
	memcpy(command, "echo \033[2J\n", 10);
	job(f, "aaaa0001", command);
	record(f);
	setenv("COLUMNS", "120", 1);
	expect_part(
		f, &cmd_log, "",
		"  OK      echo \\x1b[2J\\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\n");
	unsetenv("COLUMNS");
	/* Into a pipe goes all of it. */
	assert_int_equal(roar(f, &cmd_log, ""), 0);
	assert_non_null(strstr(str_cstr(&f->out), command + 10));
}

static void all_sessions_tells_them_apart(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	assert_int_equal(roar(f, &cmd_reset, "-y"), 0);
	expect(f, &cmd_log, "", 0, "No log entries found.\n", "");
	expect_part(f, &cmd_log, "--all-sessions", "session SESSION, closed ");
	expect_part(f, &cmd_log, "--all-sessions", "cccc0003");
}

static void json_names_every_field(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	expect_part(f, &cmd_log, "--json -n 1",
		    "  \"total_jobs\": 3,\n"
		    "  \"jobs\": [\n"
		    "    {\n"
		    "      \"job_uid\": \"cccc0003\",\n"
		    "      \"step_ref\": \"@3\",\n"
		    "      \"step_number\": 3,\n"
		    "      \"kind\": \"run\",\n"
		    "      \"name\": null,\n"
		    "      \"attempt\": 1,\n"
		    "      \"command\": \"python evaluate.py\",\n"
		    "      \"started_at\": \"2023-11-14T22:16:20.000000Z\",\n"
		    "      \"duration_s\": 1.500000,\n"
		    "      \"status\": \"ok\",\n"
		    "      \"exit_code\": 0,\n"
		    "      \"verdict\": \"complete\",\n"
		    "      \"inputs_count\": 1,\n"
		    "      \"outputs_count\": 1,\n"
		    "      \"session_uid\": \"SESSION\",\n"
		    "      \"labels\": {},\n"
		    "      \"nodes\": null\n"
		    "    }\n"
		    "  ]\n"
		    "}\n");
}

/* The columns of the longest line. */
static size_t widest(const struct str *text)
{
	const char *line = str_cstr(text);
	size_t most = 0;

	while (*line) {
		size_t n = strcspn(line, "\n");

		if (n > most)
			most = n;
		line += n + (line[n] == '\n');
	}
	return most;
}

static void a_narrow_terminal_gets_fewer_columns(void **state)
{
	struct fixture *f = *state;
	char columns[16];

	record_pipeline(f);
	job(f, "dddd0004", "python a_script_with_a_long_name.py --and options");
	gap(f, EVENT_GAP_IO_URING, "", 1);
	record(f);
	for (int width = 20; width <= 120; width++) {
		(void)snprintf(columns, sizeof(columns), "%d", width);
		setenv("COLUMNS", columns, 1);
		assert_int_equal(roar(f, &cmd_log, "-a"), 0);
		assert_true(widest(&f->out) <= (size_t)width);
	}
	setenv("COLUMNS", "40", 1);
	expect(f, &cmd_log, "-n 1", 0,
	       "Job Log (4 jobs, last 1)\n\n"
	       "UID       STEP  STATUS  COMMAND\n"
	       "dddd0004  @4    OK*     python a_scri...\n"
	       "\n* incomplete: 'roar show UID'\n",
	       "");
	unsetenv("COLUMNS");
}

static void a_bad_number_is_wrong_usage(void **state)
{
	expect(*state, &cmd_log, "-n many", 2, "",
	       "roar: option '--number' takes a number from 1 to 1000000, not "
	       "'many' (see 'roar log --help')\n");
	assert_int_equal(roar(*state, &cmd_log, "-n 0"), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(an_empty_session_has_no_entries),
		FIXTURE_TEST(jobs_are_listed_oldest_first),
		FIXTURE_TEST(failures_interruptions_and_gaps_show_in_the_status),
		FIXTURE_TEST(n_lists_the_newest),
		FIXTURE_TEST(search_finds_words_of_the_command),
		FIXTURE_TEST(long_and_odd_commands_are_cut_and_made_printable),
		FIXTURE_TEST(all_sessions_tells_them_apart),
		FIXTURE_TEST(json_names_every_field),
		FIXTURE_TEST(a_narrow_terminal_gets_fewer_columns),
		FIXTURE_TEST(a_bad_number_is_wrong_usage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
