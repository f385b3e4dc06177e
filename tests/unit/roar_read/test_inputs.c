/* test_inputs.c */
#include "fixture.h"

static void direct_inputs_are_the_default(void **state)
{
	struct fixture *f = *state;
	const char *const expected =
		"Inputs of @3 cccc0003 (1)\n"
		"  23528095ca5b  9 B         model.pt  from @2 bbbb0002\n";

	record_pipeline(f);
	expect(f, &cmd_inputs, "@3", 0, expected, "");
	expect(f, &cmd_inputs, "--direct metrics.json", 0, expected, "");
	expect(f, &cmd_inputs, "--job cccc", 0, expected, "");
	expect(f, &cmd_inputs, "--path metrics.json", 0, expected, "");
}

static void all_goes_back_to_the_beginning(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	expect(f, &cmd_inputs, "@3 --all", 0,
	       "Inputs of @3 cccc0003 and of everything it was made from "
	       "(3)\n  23528095ca5b  9 B         model.pt  used by @3  "
	       "from @2 bbbb0002\n  b363e9bc5a3b  8 B         features.bin  "
	       "used by @2  from @1 aaaa0001\n  8ebd15e1b413  6 B         "
	       "raw.csv  used by @2  unsourced\n",
	       "");
	expect(f, &cmd_inputs, "@3 --all --unsourced", 0,
	       "Unsourced inputs of @3 cccc0003 and of everything it was "
	       "made from (1)\n  8ebd15e1b413  6 B         raw.csv  used "
	       "by @2  unsourced\n",
	       "");
	expect(f, &cmd_inputs, "@3 --all --sourced", 0,
	       "Sourced inputs of @3 cccc0003 and of everything it was "
	       "made from (2)\n  23528095ca5b  9 B         model.pt  used "
	       "by @3  from @2 bbbb0002\n  b363e9bc5a3b  8 B         "
	       "features.bin  used by @2  from @1 aaaa0001\n",
	       "");
}

static void makers_are_found_across_sessions(void **state)
{
	struct fixture *f = *state;
	struct roar_error err;
	char expected[160];

	record_pipeline(f);
	(void)snprintf(expected, sizeof(expected),
		       "Inputs of @1 dddd0004 (1)\n"
		       "  23528095ca5b  9 B         model.pt  from @2 of "
		       "session %.8s bbbb0002\n",
		       f->session.uid);
	assert_int_equal(roar(f, &cmd_reset, "-y"), 0);
	assert_int_equal(
		store_session_active(f->store, false, &f->session, &err), 0);
	job(f, "dddd0004", "python deploy.py");
	input(f, "model.pt");
	record(f);
	expect(f, &cmd_inputs, "@1", 0, expected, "");
}

static void a_job_that_rewrites_its_input_ends_the_walk(void **state)
{
	struct fixture *f = *state;

	put(f, "state", "1");
	for (int i = 2; i < 6; i++) {
		char uid[32], content[32];

		(void)snprintf(uid, sizeof(uid), "aaaa000%d", i);
		(void)snprintf(content, sizeof(content), "%d", i);
		record_made(f, uid, "bump state", "state", "state", content);
	}
	expect_part(f, &cmd_inputs, "aaaa0005 --all", "made from (4)\n");
	expect_part(f, &cmd_inputs, "aaaa0005 --all --unsourced",
		    "made from (1)\n");
}

static void what_was_moved_leads_to_its_maker(void **state)
{
	struct fixture *f = *state;

	record_moves(f);
	expect(f, &cmd_inputs, "yl --all", 0,
	       "Inputs of @3 cccc0003 and of everything it was made from "
	       "(2)\n  3fba5250be9a  7 B         yy  moved by @3  from @2 "
	       "bbbb0002\n  3fba5250be9a  7 B         y  moved by @2  from "
	       "@1 aaaa0001\n",
	       "");
	expect_part(f, &cmd_inputs, "yy", "y  moved  from @1 aaaa0001\n");
	expect_part(f, &cmd_inputs, "yy --json", "\"moved\": true");
}

static void what_was_moved_from_outside_is_unsourced(void **state)
{
	struct fixture *f = *state;

	put(f, "raw", "content");
	job(f, "aaaa0001", "mv raw data");
	moved(f, "raw", "data");
	record(f);
	expect(f, &cmd_inputs, "data --unsourced", 0,
	       "Unsourced inputs of @1 aaaa0001 (1)\n"
	       "  3fba5250be9a  7 B         raw  moved  unsourced\n",
	       "");
	expect(f, &cmd_inputs, "data --sourced", 0,
	       "Sourced inputs of @1 aaaa0001 (0)\n", "");
}

static void empty_files_have_no_maker_elsewhere(void **state)
{
	struct fixture *f = *state;

	record_made(f, "aaaa0001", "touch done", NULL, "done", "");
	put(f, "other", "");
	job(f, "bbbb0002", "cat other done");
	input(f, "other");
	input(f, "done");
	record(f);
	expect_part(f, &cmd_inputs, "@2", "other  unsourced\n");
	expect_part(f, &cmd_inputs, "@2", "done  from @1 aaaa0001\n");
}

static void a_job_that_copies_a_file_did_not_make_it(void **state)
{
	struct fixture *f = *state;

	put(f, "raw", "data");
	record_made(f, "aaaa0001", "cp raw copy", "raw", "copy", "data");
	put(f, "moved", "data");
	job(f, "bbbb0002", "cat raw copy moved");
	input(f, "raw");
	input(f, "copy");
	input(f, "moved");
	record(f);
	expect_part(f, &cmd_inputs, "@2", "raw  unsourced\n");
	expect_part(f, &cmd_inputs, "@2", "copy  from @1 aaaa0001\n");
	expect_part(f, &cmd_inputs, "@2", "moved  from @1 aaaa0001\n");
}

static void what_came_from_outside_has_no_inputs(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	expect(f, &cmd_inputs, "raw.csv", 0,
	       "No recorded job wrote raw.csv: it came from outside.\n", "");
	expect(f, &cmd_inputs, "raw.csv --json", 0,
	       "{\n"
	       "  \"job\": null,\n"
	       "  \"scope\": \"direct\",\n"
	       "  \"inputs\": [],\n"
	       "  \"collections\": []\n"
	       "}\n",
	       "");
}

static void json_tells_maker_user_and_depth(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	expect_part(f, &cmd_inputs, "@3 --all --json",
		    "      \"depth\": 2,\n"
		    "      \"sourced\": true,\n"
		    "      \"moved\": false,\n"
		    "      \"object\": null,\n"
		    "      \"made_by\": {\n"
		    "        \"job_uid\": \"aaaa0001\",\n"
		    "        \"step_ref\": \"@1\"\n"
		    "      },\n"
		    "      \"used_by\": {\n"
		    "        \"job_uid\": \"bbbb0002\",\n"
		    "        \"step_ref\": \"@2\"\n"
		    "      }\n");
}

static void contradictions_are_wrong_usage(void **state)
{
	assert_int_equal(roar(*state, &cmd_inputs, "@1 --all --direct"), 2);
	assert_int_equal(roar(*state, &cmd_inputs, "@1 --sourced --unsourced"),
			 2);
	assert_int_equal(roar(*state, &cmd_inputs, ""), 2);
	assert_int_equal(roar(*state, &cmd_inputs, "@1 --path x"), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(direct_inputs_are_the_default),
		FIXTURE_TEST(all_goes_back_to_the_beginning),
		FIXTURE_TEST(makers_are_found_across_sessions),
		FIXTURE_TEST(a_job_that_rewrites_its_input_ends_the_walk),
		FIXTURE_TEST(what_was_moved_leads_to_its_maker),
		FIXTURE_TEST(what_was_moved_from_outside_is_unsourced),
		FIXTURE_TEST(empty_files_have_no_maker_elsewhere),
		FIXTURE_TEST(a_job_that_copies_a_file_did_not_make_it),
		FIXTURE_TEST(what_came_from_outside_has_no_inputs),
		FIXTURE_TEST(json_tells_maker_user_and_depth),
		FIXTURE_TEST(contradictions_are_wrong_usage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
