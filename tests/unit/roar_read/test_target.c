/* test_target.c - what words mean, and what is said when they mean nothing. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

static void expect_refusal(struct fixture *f, const char *words,
			   const char *sentence)
{
	expect(f, &cmd_show, words, 1, "", sentence);
}

static void steps_are_checked(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	expect_refusal(f, "@9",
		       "roar: step '@9' does not exist in the active session: "
		       "'roar log' lists its steps\n");
	expect_refusal(f, "@B1",
		       "roar: step '@B1' does not exist in the active session: "
		       "'roar log' lists its steps\n");
	for (const char *const *word =
		     (const char *const[]){ "@", "@0", "@x", "@1x", "@B", "@1.",
					    "@1.0", "@1.2.3", "@.1",
					    "@99999999999", NULL };
	     *word; word++) {
		assert_int_equal(roar(f, &cmd_show, *word), 2);
		assert_non_null(
			strstr(str_cstr(&f->err), "is not a step: use @N"));
	}
}

static void an_execution_of_a_step_is_found_by_its_number(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	record_prepare(f, "dddd0004", "features");
	expect_part(f, &cmd_show, "@1", "Job dddd0004\n");
	expect_part(f, &cmd_show, "@1.2", "Job dddd0004\n");
	expect_part(f, &cmd_show, "@1.1", "Job aaaa0001\n");
	expect_refusal(f, "@1.3",
		       "roar: execution '@1.3' does not exist in the active "
		       "session: 'roar dag --expanded' lists the executions\n");
}

static void build_steps_have_their_own_numbers(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	job(f, "dddd0004", "make");
	f->job.kind = "build";
	record(f);
	expect_part(f, &cmd_show, "@B1", "Job dddd0004\n");
	expect_part(f, &cmd_show, "@1", "Job aaaa0001\n");
}

static void a_prefix_of_a_uid_must_be_unique(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	job(f, "aaaa0009", "true");
	record(f);
	expect_part(f, &cmd_show, "BBBB", "Job bbbb0002\n");
	expect_refusal(f, "aaaa",
		       "roar: 'aaaa' is the start of several jobs (aaaa0001, "
		       "aaaa0009): give more digits\n");
	expect_part(f, &cmd_show, "aaaa0009", "Job aaaa0009\n");
}

static void an_ambiguous_hash_lists_candidates(void **state)
{
	struct fixture *f = *state;
	struct store_file *row;

	put(f, "x", "x");
	put(f, "y", "y");
	job(f, "aaaa0001", "cat x y");
	row = file(f, "x", LINEAGE_INPUT);
	memset(row->digests.blake3, 0xcd, 31);
	row = file(f, "y", LINEAGE_INPUT);
	memset(row->digests.blake3, 0xcd, 31);
	record(f);
	expect_refusal(f, "cdcd",
		       "roar: 'cdcd' is the start of several artifacts "
		       "(cdcdcdcdcdcdcdcd x, cdcdcdcdcdcdcdcd y): give more "
		       "digits\n");
}

static void selectors_refuse_what_cannot_be(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	expect(f, &cmd_show, "--job model.pt", 2, "",
	       "roar: 'model.pt' is not a job: use @N, @BN or at least 4 "
	       "digits of a job's UID (see 'roar show --help')\n");
	expect_refusal(
		f, "--job dead",
		"roar: job 'dead' does not exist: 'roar log --all-sessions' "
		"lists the jobs\n");
	expect(f, &cmd_inputs, "--artifact abc", 2, "",
	       "roar: 'abc' is not a hash: use 4 to 128 hex digits (see "
	       "'roar inputs --help')\n");
	expect_refusal(f, "--path nosuch",
		       "roar: no recorded job used a file 'nosuch': 'roar show "
		       "JOB' and 'roar status' list the recorded files\n");
	expect_refusal(f, "--artifact 00000000",
		       "roar: no recorded content has a hash that starts with "
		       "'00000000'\n");
}

static void paths_are_taken_from_the_current_directory(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(mkdir("sub", 0755), 0);
	record_pipeline(f);
	assert_int_equal(symlink("..", "sub/up"), 0);
	assert_int_equal(chdir("sub"), 0);
	expect_part(f, &cmd_show, "../model.pt", "Artifact 23528095ca5b\n");
	expect_part(f, &cmd_show, "up/model.pt", "Artifact 23528095ca5b\n");
	expect_part(f, &cmd_show, "../model.pt",
		    "  present     DIR/model.pt\n");
}

static void a_path_beats_nothing_but_is_found_last(void **state)
{
	struct fixture *f = *state;

	record_made(f, "aaaa0001", "touch cafe", NULL, "cafe", "coffee");
	expect_part(f, &cmd_show, "cafe", "        as cafe\n");
	job(f, "cafe0002", "true");
	record(f);
	expect_part(f, &cmd_show, "cafe", "Job cafe0002\n");
	expect_part(f, &cmd_show, "--path cafe", "        as cafe\n");
}

static void unknown_names_get_the_remedy(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	put(f, "stranger", "?");
	assert_int_equal(mkdir("folder", 0755), 0);
	expect_refusal(
		f, "stranger",
		"roar: the file 'stranger' was not used by any recorded job: 'roar run' the command that reads or writes it\n");
	expect_refusal(f, "folder",
		       "roar: 'folder' is a directory that no recorded job "
		       "read or wrote as a whole: name a file in it\n");
	expect_refusal(
		f, "nothing",
		"roar: nothing in the record matches 'nothing': give a step "
		"(@N), a job, a hash of at least 4 digits or a recorded "
		"file; 'roar log' lists the jobs\n");
}

static void unidentified_content_is_said_to_be_so(void **state)
{
	struct fixture *f = *state;
	struct store_file *row;

	put(f, "secret", "!");
	job(f, "aaaa0001", "cat secret");
	row = file(f, "secret", LINEAGE_INPUT);
	row->digests.have = 0;
	record(f);
	expect_refusal(
		f, "secret",
		"roar: 'secret' is in the record, but its content was never "
		"identified: 'roar show --all' of its job gives the "
		"reason\n");
}

static void a_project_is_needed(void **state)
{
	struct fixture *f = *state;
	const struct command *const readers[] = { &cmd_status, &cmd_log,
						  &cmd_dag,    &cmd_show,
						  &cmd_db,     &cmd_pop,
						  &cmd_reset };

	assert_int_equal(chdir("/"), 0);
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		assert_int_equal(roar(f, readers[i], ""), 1);
		assert_int_equal(f->out.len, 0);
		assert_non_null(strstr(str_cstr(&f->err), "roar init"));
	}
}

static void a_damaged_database_is_one_sentence(void **state)
{
	struct fixture *f = *state;
	const struct command *const readers[] = { &cmd_status, &cmd_log,
						  &cmd_dag,    &cmd_show,
						  &cmd_db,     &cmd_pop,
						  &cmd_reset };

	record_pipeline(f);
	store_closep(&f->store);
	f->store = NULL;
	put(f, ".roar/roar.db",
	    "this is no database, whatever its name may say, and it is long enough to look like one at a glance");
	(void)unlink(".roar/roar.db-wal");
	(void)unlink(".roar/roar.db-shm");
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		assert_int_equal(roar(f, readers[i], ""), 1);
		assert_int_equal(f->out.len, 0);
		assert_non_null(strstr(str_cstr(&f->err), "roar.db"));
		assert_ptr_equal(strchr(str_cstr(&f->err), '\n'),
				 str_cstr(&f->err) + f->err.len - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(steps_are_checked),
		FIXTURE_TEST(an_execution_of_a_step_is_found_by_its_number),
		FIXTURE_TEST(build_steps_have_their_own_numbers),
		FIXTURE_TEST(a_prefix_of_a_uid_must_be_unique),
		FIXTURE_TEST(an_ambiguous_hash_lists_candidates),
		FIXTURE_TEST(selectors_refuse_what_cannot_be),
		FIXTURE_TEST(paths_are_taken_from_the_current_directory),
		FIXTURE_TEST(a_path_beats_nothing_but_is_found_last),
		FIXTURE_TEST(unknown_names_get_the_remedy),
		FIXTURE_TEST(unidentified_content_is_said_to_be_so),
		FIXTURE_TEST(a_project_is_needed),
		FIXTURE_TEST(a_damaged_database_is_one_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
