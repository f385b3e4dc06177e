/* test_dag.c */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

static void an_empty_session_has_no_steps(void **state)
{
	expect(*state, &cmd_dag, "", 0, "No steps in the active session.\n",
	       "");
	expect(*state, &cmd_dag, "--json", 0,
	       "{\n"
	       "  \"nodes\": [],\n"
	       "  \"artifacts\": [],\n"
	       "  \"collections\": [],\n"
	       "  \"total_steps\": 0,\n"
	       "  \"stale_count\": 0,\n"
	       "  \"outdated_count\": 0,\n"
	       "  \"stale_artifact_count\": 0,\n"
	       "  \"superseded_artifact_count\": 0,\n"
	       "  \"session_id\": \"SESSION\",\n"
	       "  \"is_expanded\": false,\n"
	       "  \"labels\": {}\n"
	       "}\n",
	       "");
}

static void a_linear_pipeline_is_one_column(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	expect(f, &cmd_dag, "", 0,
	       "Pipeline: 3 steps\n"
	       "\n"
	       "   STEP   IN  OUT  USED  AFTER  COMMAND\n"
	       "●  @1      1    1     1         python prepare.py raw.csv\n"
	       "●  @2      2    1     1  @1     train: python train.py --epochs 10\n"
	       "●  @3      1    1     0  @2     python evaluate.py\n",
	       "");
}

static void without_unicode_the_lines_are_ascii(void **state)
{
	struct fixture *f = *state;

	setenv("LC_ALL", "C", 1);
	record_pipeline(f);
	expect_part(
		f, &cmd_dag, "",
		"o  @1      1    1     1         python prepare.py raw.csv\n");
	for (size_t i = 0; i < f->out.len; i++)
		assert_true((unsigned char)f->out.data[i] < 0x80);
}

static void a_diamond_joins_its_branches(void **state)
{
	struct fixture *f = *state;

	put(f, "raw", "raw");
	job(f, "aaaa0001", "split raw");
	input(f, "raw");
	output(f, "left", "l");
	output(f, "right", "r");
	record(f);
	record_made(f, "bbbb0002", "work left", "left", "left.out", "lo");
	record_made(f, "cccc0003", "work right", "right", "right.out", "ro");
	job(f, "dddd0004", "merge");
	input(f, "left.out");
	input(f, "right.out");
	output(f, "all", "a");
	record(f);
	expect(f, &cmd_dag, "", 0,
	       "Pipeline: 4 steps\n"
	       "\n"
	       "     STEP   IN  OUT  USED  AFTER  COMMAND\n"
	       "●    @1      1    2     2         split raw\n"
	       "├─●  @2      1    1     1  @1     work left\n"
	       "● │  @3      1    1     1  @1     work right\n"
	       "●─┘  @4      2    1     0  @2,@3  merge\n",
	       "");
	expect_part(f, &cmd_dag, "--show-artifacts",
		    "●    @1      1    2     2         split raw\n"
		    "│      → b9f63c83975d  1 B         left\n");
	expect_part(f, &cmd_dag, "--json",
		    "      \"dependencies\": [\n"
		    "        2,\n"
		    "        3\n"
		    "      ],\n"
		    "      \"dependency_refs\": [\n"
		    "        \"@2\",\n"
		    "        \"@3\"\n"
		    "      ],\n");
}

static void stale_steps_have_a_star(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	record_prepare(f, "dddd0004", "features, better");
	expect(f, &cmd_dag, "", 0,
	       "Pipeline: 3 steps (2 stale steps, 2 stale artifacts, 1 "
	       "superseded artifact)\n\n   STEP   IN  OUT  USED  AFTER  "
	       "COMMAND\n●  @1      1    1     0         python prepare.py "
	       "raw.csv\n○  @2*     2    1     1  @1     train: python "
	       "train.py --epochs 10\n○  @3*     1    1     0  @2     "
	       "python evaluate.py\n\n* stale: an input was written again; "
	       "'roar rerun' brings them up to date\n",
	       "");
	expect_part(
		f, &cmd_dag, "--stale-only",
		"\n"
		"   STEP   IN  OUT  USED  AFTER  COMMAND\n"
		"○  @2*     2    1     1  @1     train: python train.py --epochs 10\n"
		"○  @3*     1    1     0  @2     python evaluate.py\n"
		"\n");
	expect_part(f, &cmd_dag, "--json", "  \"stale_count\": 2,\n");
	expect_part(f, &cmd_dag, "--json", "\"state\": \"stale\"");
	expect_part(f, &cmd_dag, "--json", "\"state\": \"superseded\"");
}

static void outdated_steps_have_an_exclamation_mark(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	put(f, "model.pt", "edited by hand");
	expect(f, &cmd_dag, "--stale-only", 0,
	       "Pipeline: 3 steps (1 outdated step)\n\n"
	       "   STEP   IN  OUT  USED  AFTER  COMMAND\n"
	       "○  @3!     1    1     0  @2     python evaluate.py\n\n"
	       "! outdated: a file that it read has changed; "
	       "'roar rerun' brings them up to date\n",
	       "");
	expect_part(f, &cmd_dag, "--json", "  \"outdated_count\": 1,\n");
	expect_part(f, &cmd_dag, "--json",
		    "\"state\": \"outdated\",\n      \"outdated_by\": "
		    "\"DIR/model.pt\"");
	expect_part(f, &cmd_status, "",
		    "Stale steps: none\nOutdated steps: @3\n");
	expect_part(f, &cmd_status, "--json",
		    "  \"outdated_steps\": [\n    \"@3\"\n  ],\n");
	/* Stale is more than outdated. */
	record_prepare(f, "dddd0004", "better features");
	expect_part(f, &cmd_dag, "", "2 stale steps, 2 stale artifacts");
}

static void a_rerun_with_the_same_content_is_not_stale(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	record_prepare(f, "dddd0004", "features");
	expect_part(f, &cmd_dag, "", "Pipeline: 3 steps\n");
	expect_part(f, &cmd_dag, "--stale-only",
		    "No stale or outdated steps.\n");
	expect_part(f, &cmd_dag, "--json", "\"state\": \"cached\"");
}

static void expanded_shows_every_execution(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	record_prepare(f, "dddd0004", "features");
	expect_part(f, &cmd_dag, "--expanded", "·  @1.1    1 ");
	expect_part(f, &cmd_dag, "--expanded", "  @1.2 ");
	expect_part(f, &cmd_dag, "--expanded --json", "\"is_expanded\": true");
	expect_part(f, &cmd_dag, "--expanded --json", "\"total_steps\": 3");
}

static void what_was_moved_depends_on_its_maker(void **state)
{
	struct fixture *f = *state;

	record_moves(f);
	expect(f, &cmd_dag, "", 0,
	       "Pipeline: 3 steps\n"
	       "\n"
	       "   STEP   IN  OUT  USED  AFTER  COMMAND\n"
	       "●  @1      0    1     0         make y\n"
	       "●  @2      0    1     0  @1     mv y yy\n"
	       "●  @3      0    1     0  @2     ln yy yl\n",
	       "");
}

static void a_move_is_stale_when_its_origin_was_made_again(void **state)
{
	struct fixture *f = *state;

	record_moves(f);
	record_made(f, "dddd0004", "make y", NULL, "y", "other content");
	expect_part(f, &cmd_dag, "",
		    "  @2*     0    1     0  @1     mv y yy\n");
}

static void a_link_to_what_came_from_outside_gets_stale_too(void **state)
{
	struct fixture *f = *state;

	put(f, "raw", "content");
	job(f, "aaaa0001", "ln raw data");
	moved(f, "raw", "data");
	record(f);
	expect_part(f, &cmd_dag, "",
		    "●  @1      0    1     0         ln raw data\n");
	record_made(f, "bbbb0002", "make raw", NULL, "raw", "other content");
	expect_part(f, &cmd_dag, "", "  @1*     0    1     0  @2     ln");
}

/* The content of both is the same, but the second wrote it itself. */
static void a_file_renamed_by_its_own_maker_depends_on_nobody(void **state)
{
	struct fixture *f = *state;

	record_made(f, "aaaa0001", "make t", NULL, "t", "content");
	job(f, "bbbb0002", "make final by way of t");
	put(f, "t", "content");
	moved(f, "t", "final");
	f->files[0].seen = LINEAGE_RENAMED_TO; /* its own content */
	record(f);
	expect_part(f, &cmd_dag, "",
		    "  @2      0    1     0         make final by way of t\n");
	expect_part(f, &cmd_inputs, "final", "Inputs of @2 bbbb0002 (0)\n");
}

static void a_name_that_is_written_anew_was_moved_before(void **state)
{
	struct fixture *f = *state;

	record_made(f, "aaaa0001", "make a", NULL, "a", "one");
	job(f, "bbbb0002", "rotate a");
	moved(f, "a", "b");
	output(f, "a", "two");
	record(f);
	expect_part(f, &cmd_dag, "",
		    "  @2      0    2     0  @1     rotate a\n");
	expect_part(f, &cmd_status, "", "  3 B         a\n");
}

static void dependencies_are_sorted_by_step(void **state)
{
	struct fixture *f = *state;

	record_made(f, "aaaa0001", "make a", NULL, "a", "a");
	record_made(f, "bbbb0002", "make b", NULL, "b", "b");
	record_made(f, "aaaa0003", "make a", NULL, "a", "A");
	job(f, "cccc0004", "cat a b");
	input(f, "a");
	input(f, "b");
	record(f);
	expect_part(f, &cmd_dag, "--expanded", "  @1.2,@2  cat a b\n");
}

static void trouble_stands_before_the_command(void **state)
{
	struct fixture *f = *state;

	job(f, "aaaa0001", "make");
	f->job.kind = "build";
	f->job.exit_code = 2;
	record(f);
	job(f, "bbbb0002", "train");
	f->job.status = STORE_INTERRUPTED;
	gap(f, EVENT_GAP_INTERRUPTED, "", 1);
	record(f);
	job(f, "cccc0003", "serve");
	gap(f, EVENT_GAP_OUTLIVED, "", 1);
	record(f);
	expect(f, &cmd_dag, "", 0,
	       "Pipeline: 3 steps\n"
	       "\n"
	       "   STEP   IN  OUT  USED  AFTER  COMMAND\n"
	       "●  @B1     0    0     0         [FAIL] make\n"
	       "\n"
	       "●  @1      0    0     0         [INT, incomplete] train\n"
	       "\n"
	       "●  @2      0    0     0         [incomplete] serve\n",
	       "");
}

static void long_commands_are_cut_to_the_width(void **state)
{
	struct fixture *f = *state;
	static char command[2 << 20];

	memset(command, 'x', sizeof(command) - 1);
	job(f, "aaaa0001", command);
	record(f);
	setenv("COLUMNS", "120", 1);
	assert_int_equal(roar(f, &cmd_dag, ""), 0);
	assert_true(f->out.len < 300);
	assert_non_null(strstr(str_cstr(&f->out), "xxx...\n"));
	unsetenv("COLUMNS");
	/* Into a pipe goes all of it. */
	assert_int_equal(roar(f, &cmd_dag, ""), 0);
	assert_non_null(strstr(str_cstr(&f->out), command));
}

/* Characters of the longest line. */
static size_t widest(const char *text)
{
	size_t most = 0;
	size_t n = 0;

	for (; *text; text++) {
		n = *text == '\n' ? 0 : n + ((*text & 0xc0) != 0x80);
		most = n > most ? n : most;
	}
	return most;
}

static void no_line_is_wider_than_the_terminal(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	record_prepare(f, "dddd0004", "other features");
	for (int width = 20; width < 100; width++) {
		char columns[8];

		(void)snprintf(columns, sizeof(columns), "%d", width);
		setenv("COLUMNS", columns, 1);
		assert_int_equal(roar(f, &cmd_dag, ""), 0);
		assert_true(widest(str_cstr(&f->out)) <= (size_t)width);
		assert_non_null(strstr(str_cstr(&f->out), "@2*"));
	}
	unsetenv("COLUMNS");
}

static void what_does_not_belong_stands_apart(void **state)
{
	struct fixture *f = *state;

	record_made(f, "aaaa0001", "one", NULL, "a", "a1");
	record_made(f, "bbbb0002", "lone", NULL, "l", "l1");
	record_made(f, "cccc0003", "two", "a", "b", "b1");
	expect(f, &cmd_dag, "", 0,
	       "Pipeline: 3 steps\n"
	       "\n"
	       "   STEP   IN  OUT  USED  AFTER  COMMAND\n"
	       "●  @1      0    1     1         one\n"
	       "●  @3      1    1     0  @1     two\n"
	       "\n"
	       "●  @2      0    1     0         lone\n",
	       "");
}

static void trouble_counts_towards_the_width(void **state)
{
	struct fixture *f = *state;

	job(f, "aaaa0001", "python train.py --epochs 10 --rate 0.001");
	f->job.exit_code = 1;
	gap(f, EVENT_GAP_IO_URING, "", 1);
	record(f);
	setenv("COLUMNS", "60", 1);
	expect_part(
		f, &cmd_dag, "",
		"●  @1      0    0     0         [FAIL, gaps] python train...\n");
	setenv("COLUMNS", "80", 1);
	expect_part(
		f, &cmd_dag, "",
		"●  @1      0    0     0         [FAIL, incomplete] python train.py --epochs 1...\n");
	unsetenv("COLUMNS");
}

static void deep_and_wide_pipelines_stay_narrow(void **state)
{
	struct fixture *f = *state;
	char uid[32], command[32], from[32], to[32];

	put(f, "f0", "0");
	for (int i = 1; i <= 40; i++) {
		(void)snprintf(uid, sizeof(uid), "aaaa%04d", i);
		(void)snprintf(command, sizeof(command), "step %d", i);
		(void)snprintf(from, sizeof(from), "f%d", i - 1);
		(void)snprintf(to, sizeof(to), "f%d", i);
		record_made(f, uid, command, from, to, command);
	}
	job(f, "bbbb0001", "collect");
	for (int i = 1; i <= 40; i++) {
		(void)snprintf(from, sizeof(from), "f%d", i);
		input(f, from);
	}
	record(f);
	assert_int_equal(roar(f, &cmd_dag, ""), 0);
	for (const char *line = str_cstr(&f->out); *line;) {
		const char *end = strchr(line, '\n');
		size_t columns = 0;

		for (const char *p = line; p < end; p++)
			columns += ((unsigned char)*p & 0xc0) != 0x80;
		assert_true(columns <= 120);
		line = end + 1;
	}
	assert_non_null(
		strstr(str_cstr(&f->out), "@1,@2,@3,@4,@5,@6,+34  collect\n"));
}

static void a_cycle_is_shown(void **state)
{
	struct fixture *f = *state;

	put(f, "a", "1");
	record_made(f, "aaaa0001", "a to b", "a", "b", "2");
	record_made(f, "bbbb0002", "b to a", "b", "a", "3");
	record_made(f, "cccc0003", "a to b", "a", "b", "4");
	expect_part(f, &cmd_dag, "", "Pipeline: 2 steps");
	expect_part(f, &cmd_dag, "", "b to a\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(an_empty_session_has_no_steps),
		FIXTURE_TEST(a_linear_pipeline_is_one_column),
		FIXTURE_TEST(without_unicode_the_lines_are_ascii),
		FIXTURE_TEST(a_diamond_joins_its_branches),
		FIXTURE_TEST(stale_steps_have_a_star),
		FIXTURE_TEST(outdated_steps_have_an_exclamation_mark),
		FIXTURE_TEST(a_rerun_with_the_same_content_is_not_stale),
		FIXTURE_TEST(expanded_shows_every_execution),
		FIXTURE_TEST(what_was_moved_depends_on_its_maker),
		FIXTURE_TEST(a_move_is_stale_when_its_origin_was_made_again),
		FIXTURE_TEST(a_link_to_what_came_from_outside_gets_stale_too),
		FIXTURE_TEST(a_file_renamed_by_its_own_maker_depends_on_nobody),
		FIXTURE_TEST(a_name_that_is_written_anew_was_moved_before),
		FIXTURE_TEST(dependencies_are_sorted_by_step),
		FIXTURE_TEST(trouble_stands_before_the_command),
		FIXTURE_TEST(long_commands_are_cut_to_the_width),
		FIXTURE_TEST(no_line_is_wider_than_the_terminal),
		FIXTURE_TEST(what_does_not_belong_stands_apart),
		FIXTURE_TEST(trouble_counts_towards_the_width),
		FIXTURE_TEST(deep_and_wide_pipelines_stay_narrow),
		FIXTURE_TEST(a_cycle_is_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
