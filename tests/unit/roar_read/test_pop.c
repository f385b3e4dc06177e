/* test_pop.c - what is deleted, and above all what is not. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

static bool exists(const char *name)
{
	return access(name, F_OK) == 0;
}

/* Pops with -y; the plan, without the two lines about the job, must hold
 * `line`, and `n` files must go. */
static void expect_pop(struct fixture *f, const char *line, int n)
{
	char deleted[64];

	(void)snprintf(deleted, sizeof(deleted), "Deleted %d output file(s).\n",
		       n);
	assert_int_equal(roar(f, &cmd_pop, "-y"), 0);
	if (!strstr(str_cstr(&f->out), line))
		fail_msg("'%s' is not in:\n%s", line, str_cstr(&f->out));
	if (!strstr(str_cstr(&f->out), deleted))
		fail_msg("'%s' is not in:\n%s", deleted, str_cstr(&f->out));
}

static void an_empty_session_has_nothing_to_pop(void **state)
{
	expect(*state, &cmd_pop, "-y", 0, "No jobs in the active session.\n",
	       "");
}

static void the_newest_job_goes_with_its_output(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	expect(f, &cmd_pop, "-y", 0,
	       "Job cccc0003 @3, 2023-11-14 22:16:20\n"
	       "  python evaluate.py\n"
	       "  delete  metrics.json\n"
	       "Removed job cccc0003 (step @3).\n"
	       "Deleted 1 output file(s).\n",
	       "");
	assert_false(exists("metrics.json"));
	assert_true(exists("model.pt"));
	expect_part(f, &cmd_log, "", "Job Log (2 jobs)\n");
	expect_pop(f, "  delete  model.pt\n", 1);
	assert_true(exists("raw.csv"));
	assert_true(exists("features.bin"));
}

static void without_a_terminal_yes_is_needed(void **state)
{
	struct fixture *f = *state;
	int saved = dup(STDIN_FILENO);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	record_pipeline(f);
	assert_true(dup2(null, STDIN_FILENO) == STDIN_FILENO);
	expect(f, &cmd_pop, "", 1,
	       "Job cccc0003 @3, 2023-11-14 22:16:20\n"
	       "  python evaluate.py\n"
	       "  delete  metrics.json\n",
	       "roar: pop removes job cccc0003 and deletes 1 file(s), and "
	       "standard input is not a terminal to ask on: add -y\n");
	assert_true(dup2(saved, STDIN_FILENO) == STDIN_FILENO);
	(void)close(saved);
	(void)close(null);
	assert_true(exists("metrics.json"));
	expect_part(f, &cmd_log, "", "Job Log (3 jobs)\n");
}

static void keep_files_deletes_nothing(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	expect(f, &cmd_pop, "-y --keep-files", 0,
	       "Job cccc0003 @3, 2023-11-14 22:16:20\n"
	       "  python evaluate.py\n"
	       "Removed job cccc0003 (step @3).\n"
	       "Kept its output files.\n",
	       "");
	assert_true(exists("metrics.json"));
}

static void changed_content_stays(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	put(f, "metrics.json", "[]\n");
	expect_pop(f,
		   "  keep    metrics.json (its content has changed since the "
		   "run)\n",
		   0);
	assert_true(exists("metrics.json"));
}

static void equal_content_goes_whatever_its_stamp(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	put(f, "metrics.json", "{}\n");
	expect_pop(f, "  delete  metrics.json\n", 1);
	assert_false(exists("metrics.json"));
}

static void a_file_that_is_gone_is_no_trouble(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	assert_int_equal(unlink("metrics.json"), 0);
	expect_pop(f, "  gone    metrics.json\n", 0);
}

/* Records one job that wrote `out` with that history. */
static void record_history(struct fixture *f, unsigned seen)
{
	job(f, "aaaa0001", "work");
	output(f, "out", "content");
	f->files[0].seen = (uint16_t)seen;
	record(f);
}

static void what_existed_before_stays(void **state)
{
	struct fixture *f = *state;

	record_history(f, LINEAGE_OPENED_WRITE | LINEAGE_TRUNCATED);
	expect_pop(f, "  keep    out (it existed before the run)\n", 0);
	assert_true(exists("out"));
}

static void what_was_removed_and_made_again_stays(void **state)
{
	struct fixture *f = *state;

	record_history(f, LINEAGE_CREATED | LINEAGE_REMOVED);
	expect_pop(f, "  keep    out (it existed before the run)\n", 0);
}

static void what_was_renamed_into_place_goes_when_the_job_made_it(void **state)
{
	struct fixture *f = *state;

	record_history(f, LINEAGE_RENAMED_TO | LINEAGE_FRESH);
	expect_pop(f, "  delete  out\n", 1);
	assert_false(exists("out"));
	record_history(f, LINEAGE_RENAMED_TO);
	expect_pop(f, "  keep    out (it existed before the run)\n", 0);
	assert_true(exists("out"));
}

static void what_took_the_place_of_a_known_file_stays(void **state)
{
	struct fixture *f = *state;

	record_made(f, "aaaa0001", "first", NULL, "out", "old");
	job(f, "bbbb0002", "second");
	output(f, "out", "new");
	f->files[0].seen = LINEAGE_RENAMED_TO | LINEAGE_FRESH;
	record(f);
	expect_pop(f,
		   "  keep    out (it replaced a file that an earlier job used "
		   "or wrote)\n",
		   0);
	assert_true(exists("out"));
}

static void old_content_that_was_linked_stays(void **state)
{
	struct fixture *f = *state;

	record_history(f, LINEAGE_LINKED_TO | LINEAGE_PRIOR);
	expect_pop(f, "  keep    out (its content existed before the run)\n",
		   0);
}

static void what_the_job_also_read_stays(void **state)
{
	struct fixture *f = *state;

	record_history(f, LINEAGE_CREATED | LINEAGE_READ_PRIOR);
	expect_pop(f, "  keep    out (the job also read it as an input)\n", 0);
}

static void what_another_job_claims_stays(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	record_prepare(f, "dddd0004", "features");
	expect_pop(f,
		   "  keep    features.bin (another recorded job wrote or used "
		   "the same content there)\n",
		   0);
	assert_true(exists("features.bin"));
}

static void what_is_outside_the_project_stays(void **state)
{
	struct fixture *f = *state;
	char name[128];

	(void)snprintf(name, sizeof(name), "../%s.outside",
		       strrchr(f->dir, '/') + 1);
	record_made(f, "aaaa0001", "work", NULL, name, "content");
	expect_pop(f, " (it is outside the project)\n", 0);
	assert_true(exists(name));
	assert_int_equal(unlink(name), 0);
}

static void what_is_no_regular_file_stays(void **state)
{
	struct fixture *f = *state;

	job(f, "aaaa0001", "mkfifo pipe");
	output(f, "pipe", "content");
	f->files[0].ftype = EVENT_FTYPE_FIFO;
	record(f);
	expect_pop(f, "  keep    pipe (it is not a regular file)\n", 0);
}

static void a_file_where_a_link_was_made_stays(void **state)
{
	struct fixture *f = *state;

	job(f, "aaaa0001", "ln -s x link");
	output(f, "link", "content");
	f->files[0].ftype = EVENT_FTYPE_SYMLINK;
	record(f);
	expect_pop(f,
		   "  keep    link (its name is now used by something else)\n",
		   0);
	assert_true(exists("link"));
}

static void a_link_does_not_lead_elsewhere(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(mkdir("out", 0755), 0);
	record_made(f, "aaaa0001", "work", NULL, "out/result", "content");
	assert_int_equal(rename("out", "precious"), 0);
	assert_int_equal(symlink("precious", "out"), 0);
	expect_pop(f,
		   "  keep    out/result (its name is now used by something "
		   "else)\n",
		   0);
	assert_true(exists("precious/result"));
}

static void a_link_in_its_place_is_not_followed(void **state)
{
	struct fixture *f = *state;

	record_history(f, LINEAGE_CREATED | LINEAGE_FRESH);
	assert_int_equal(rename("out", "precious"), 0);
	assert_int_equal(symlink("precious", "out"), 0);
	expect_pop(f,
		   "  keep    out (its name is now used by something else)\n",
		   0);
	assert_true(exists("precious"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(an_empty_session_has_nothing_to_pop),
		FIXTURE_TEST(the_newest_job_goes_with_its_output),
		FIXTURE_TEST(without_a_terminal_yes_is_needed),
		FIXTURE_TEST(keep_files_deletes_nothing),
		FIXTURE_TEST(changed_content_stays),
		FIXTURE_TEST(equal_content_goes_whatever_its_stamp),
		FIXTURE_TEST(a_file_that_is_gone_is_no_trouble),
		FIXTURE_TEST(what_existed_before_stays),
		FIXTURE_TEST(what_was_removed_and_made_again_stays),
		FIXTURE_TEST(
			what_was_renamed_into_place_goes_when_the_job_made_it),
		FIXTURE_TEST(what_took_the_place_of_a_known_file_stays),
		FIXTURE_TEST(a_file_where_a_link_was_made_stays),
		FIXTURE_TEST(old_content_that_was_linked_stays),
		FIXTURE_TEST(what_the_job_also_read_stays),
		FIXTURE_TEST(what_another_job_claims_stays),
		FIXTURE_TEST(what_is_outside_the_project_stays),
		FIXTURE_TEST(what_is_no_regular_file_stays),
		FIXTURE_TEST(a_link_does_not_lead_elsewhere),
		FIXTURE_TEST(a_link_in_its_place_is_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
