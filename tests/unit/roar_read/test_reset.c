/* test_reset.c - and `roar db`, the other housekeeper. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"

static void reset_starts_an_empty_session(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	assert_int_equal(roar(f, &cmd_reset, "-y"), 0);
	assert_memory_equal(str_cstr(&f->out),
			    "Current session has 3 step(s).\n"
			    "Deactivated session SESSION.\n"
			    "Created new session ",
			    80);
	expect(f, &cmd_log, "", 0, "No log entries found.\n", "");
	expect_part(f, &cmd_show, "aaaa0001", "Job aaaa0001\n");
}

static void an_empty_session_is_reset_without_asking(void **state)
{
	assert_int_equal(roar(*state, &cmd_reset, ""), 0);
}

static void without_a_terminal_yes_is_needed(void **state)
{
	struct fixture *f = *state;
	int saved = dup(STDIN_FILENO);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	record_pipeline(f);
	assert_true(dup2(null, STDIN_FILENO) == STDIN_FILENO);
	expect(f, &cmd_reset, "", 1, "Current session has 3 step(s).\n",
	       "roar: reset closes the session with its 3 step(s), and "
	       "standard input is not a terminal to ask on: add -y\n");
	assert_true(dup2(saved, STDIN_FILENO) == STDIN_FILENO);
	(void)close(saved);
	(void)close(null);
	expect_part(f, &cmd_log, "", "Job Log (3 jobs)\n");
}

static void db_counts_the_record(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	expect_part(
		f, &cmd_db, "",
		"Contents\n  Sessions:     1\n  Jobs:         3\n  "
		"Processes:    0\n  Artifacts:    4 (26 B of distinct "
		"content)\n  Paths:        4\n  File uses:    7\nHygiene\n  "
		"Integrity:    not checked (--check reads the whole "
		"database)\n  Unused:       0 artifacts\nAge\n  Oldest job:   "
		"2023-11-14 22:14:20\n  Newest job:   2023-11-14 22:16:20\n");
	expect_part(f, &cmd_db, "--check", "  Integrity:    sound\n");
	expect_part(f, &cmd_db, "--compact", "  Compacted:    ");
	expect_part(f, &cmd_db, "--check --json",
		    "  \"newest_job_at\": \"2023-11-14T22:16:20.000000Z\",\n"
		    "  \"integrity\": \"sound\",\n"
		    "  \"freed_bytes\": null\n");
	expect_part(f, &cmd_log, "", "Job Log (3 jobs)\n");
}

static void db_of_an_empty_project(void **state)
{
	expect_part(*state, &cmd_db, "", "Age\n  no jobs yet\n");
	expect_part(*state, &cmd_db, "--json", "  \"oldest_job_at\": null,\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(reset_starts_an_empty_session),
		FIXTURE_TEST(an_empty_session_is_reset_without_asking),
		FIXTURE_TEST(without_a_terminal_yes_is_needed),
		FIXTURE_TEST(db_counts_the_record),
		FIXTURE_TEST(db_of_an_empty_project),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
