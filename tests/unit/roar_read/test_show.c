/* test_show.c */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

#define MODEL "23528095ca5b089f46b321d8fb6e59849f368cf8a8c9a965c39a04247727f848"

static void without_a_word_the_session_is_shown(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	expect_part(
		f, &cmd_show, "",
		"  Jobs:         3\n"
		"  Build steps:  0\n"
		"  Run steps:    3\n"
		"\n"
		"Steps\n"
		"  @1    aaaa0001  OK          1 in      1 out  python prepare.py raw.csv\n"
		"  @2    bbbb0002  OK          2 in      1 out  train: python train.py --epochs 10\n"
		"  @3    cccc0003  OK          1 in      1 out  python evaluate.py\n");
}

static void an_empty_session_says_what_to_do(void **state)
{
	expect_part(*state, &cmd_show, "--session",
		    "No steps yet: 'roar run COMMAND' records one.\n");
}

static void a_job_names_the_makers_of_its_inputs(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	expect(f, &cmd_show, "@2", 0,
	       "Job bbbb0002\n"
	       "  Step:         @2 train\n"
	       "  Command:      python train.py --epochs 10\n"
	       "  Directory:    DIR\n"
	       "  Started:      2023-11-14 22:15:20\n"
	       "  Duration:     1.5 s\n"
	       "  Exit:         0 OK\n"
	       "  Record:       complete\n"
	       "  Tracer:       ptrace, attached in 1.2 ms\n"
	       "  Seen:         1 process, no process escaped, no event lost, no io_uring ring, no file in a foreign namespace\n"
	       "  Filters:      roar git system\n"
	       "  Recorded by:  ann@box, roar 0.1.0\n"
	       "  Resources:    1.0 s user, 250.0 ms system, 2.0 MiB peak memory, 1 process\n"
	       "\n"
	       "Inputs (2)\n"
	       "  #1     b363e9bc5a3b  8 B         features.bin  from @1 aaaa0001\n"
	       "  #2     8ebd15e1b413  6 B         raw.csv\n"
	       "\n"
	       "Outputs (1)\n"
	       "  #3     23528095ca5b  9 B         model.pt\n",
	       "");
}

static void a_job_shows_git_gaps_and_all_kinds_of_files(void **state)
{
	struct fixture *f = *state;
	struct store_file *row;

	put(f, "a", "a");
	job(f, "aaaa0001", "work");
	f->job.exit_code = 3;
	f->job.git_root = f->dir;
	f->job.git_commit = "0123456789abcdef0123456789abcdef01234567";
	f->job.git_branch = "main";
	f->job.git_remote = "https://host/repo.git";
	f->job.git_snapshot = "fedcba9876543210fedcba9876543210fedcba98";
	f->job.git_note = "submodules were not looked at";
	f->job.git_dirty = TRI_YES;
	f->job.n_filtered = 1;
	gap(f, EVENT_GAP_CHANGED, "data.bin", 2);
	row = file(f, "scratch", LINEAGE_TEMPORARY);
	row->intermediate = true;
	row = file(f, "a", LINEAGE_TOUCHED);
	row->origin = "/elsewhere/b";
	row = file(f, "/usr/lib/libm.so", LINEAGE_INPUT);
	row->filter = FILTER_SYSTEM;
	row->digests.have = 0;
	process(f, 100, 0, "work --hard");
	record(f);
	expect_part(f, &cmd_show, "@1", "  Exit:         3 FAIL\n");
	expect_part(f, &cmd_show, "@1",
		    "  Git:          main @ 0123456789ab, uncommitted changes\n"
		    "  Snapshot:     fedcba9876543210fedcba9876543210fedcba98\n"
		    "  Remote:       https://host/repo.git\n"
		    "  Note:         submodules were not looked at\n");
	expect_part(f, &cmd_show, "@1 --json",
		    "\"note\": \"submodules were not looked at\"");
	expect_part(f, &cmd_show, "@1", ": data.bin (2 times)\n");
	expect_part(
		f, &cmd_show, "@1",
		"Inputs (0)\n"
		"\n"
		"Outputs (0)\n"
		"\n"
		"Temporaries (1)\n"
		"  -      -             -           scratch  read again by the run\n"
		"\n"
		"Touched, unchanged (1)\n"
		"  -      17762fddd969  1 B         a  renamed from /elsewhere/b\n"
		"\n"
		"Filtered (1; --all lists them)\n"
		"  system          1 read, 0 written\n");
	expect_part(f, &cmd_show, "@1 --all", "/usr/lib/libm.so  [system]\n");
	expect_part(f, &cmd_show, "@1 --all",
		    "Processes (1)\n"
		    "  PID      PARENT   EXIT       DURATION   COMMAND\n"
		    "  100      0        0          1.0 s      work --hard\n");
	expect_part(f, &cmd_show, "@1 --json", "\"reason\": \"changed\"");
	expect_part(f, &cmd_show, "@1 --json", "\"dirty\": true");
}

static void a_rerun_tells_which_execution_it_is(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	record_prepare(f, "dddd0004", "features");
	expect_part(f, &cmd_show, "@1",
		    "Job dddd0004\n  Step:         @1 (execution 2 of 2)\n");
	expect_part(f, &cmd_show, "aaaa0001",
		    "  Step:         @1 (execution 1 of 2)\n");
}

static void an_artifact_is_found_by_path_and_by_hash(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	expect_part(f, &cmd_show, "model.pt",
		    "Artifact 23528095ca5b\n"
		    "  Blake3:       " MODEL "\n"
		    "  Size:         9 B\n");
	expect_part(
		f, &cmd_show, "./model.pt",
		"\n"
		"Paths (1)\n"
		"  present     model.pt\n"
		"\n"
		"Made by (1)\n"
		"  @2    bbbb0002  2023-11-14 22:15:20  python train.py --epochs 10\n"
		"        as model.pt\n"
		"\n"
		"Used by (1)\n"
		"  @3    cccc0003  2023-11-14 22:16:20  python evaluate.py\n"
		"        as model.pt\n");
	expect_part(f, &cmd_show, "23528095", "Artifact 23528095ca5b\n");
	expect_part(f, &cmd_show, "--artifact 23528095CA",
		    "Artifact 23528095ca5b\n");
	expect_part(f, &cmd_show, "--artifact 2352 --json",
		    "  \"type\": \"artifact\",\n"
		    "  \"digests\": {\n"
		    "    \"blake3\": \"" MODEL "\"\n"
		    "  },\n"
		    "  \"size_bytes\": 9,\n");
}

static void reruns_are_folded_to_the_latest(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	record_prepare(f, "dddd0004", "features");
	record_prepare(f, "eeee0005", "features");
	expect_part(
		f, &cmd_show, "features.bin",
		"Made by (1)\n"
		"  @1    eeee0005  2023-11-14 22:18:20  python prepare.py raw.csv\n"
		"        as features.bin\n"
		"  and 2 earlier executions (--all)\n");
	expect_part(f, &cmd_show, "features.bin --all", "Made by (3)\n");
}

static void large_sizes_are_given_to_the_byte(void **state)
{
	struct fixture *f = *state;
	char content[2049];

	memset(content, 'x', sizeof(content) - 1);
	content[sizeof(content) - 1] = '\0';
	record_made(f, "aaaa0001", "make big", NULL, "big", content);
	expect_part(f, &cmd_show, "big",
		    "  Size:         2.0 KiB (2048 bytes)\n");
}

static void steps_of_closed_sessions_say_so(void **state)
{
	struct fixture *f = *state;
	char part[64];

	record_pipeline(f);
	assert_int_equal(roar(f, &cmd_reset, "-y"), 0);
	(void)snprintf(part, sizeof(part), "  @2 of session %.8s bbbb0002  ",
		       f->session.uid);
	expect_part(f, &cmd_show, "model.pt", part);
	(void)snprintf(part, sizeof(part),
		       "  Step:         @2 of session %.8s train\n",
		       f->session.uid);
	expect_part(f, &cmd_show, "bbbb0002", part);
}

static void the_place_of_an_artifact_is_looked_at(void **state)
{
	struct fixture *f = *state;

	record_pipeline(f);
	put(f, "model.pt", "model one");
	expect_part(f, &cmd_show, "model.pt", "  present     model.pt\n");
	put(f, "model.pt", "model two");
	expect_part(f, &cmd_show, "model.pt", "  changed     model.pt\n");
	expect_part(f, &cmd_show, "model.pt",
		    "\nThe file has other content now; its newest recorded "
		    "content is shown.\n");
	assert_int_equal(unlink("model.pt"), 0);
	expect_part(f, &cmd_show, "model.pt", "  missing     model.pt\n");
}

static void names_cannot_drive_the_terminal(void **state)
{
	struct fixture *f = *state;

	put(f, "a\033[2Jb\n", "odd");
	job(f, "aaaa0001", "cat");
	input(f, "a\033[2Jb\n");
	record(f);
	expect_part(f, &cmd_show, "@1", "3 B         a\\x1b[2Jb\\n\n");
	expect_part(f, &cmd_show, "@1 --json", "DIR/a\\u001b[2Jb\\n\"");
}

static void long_lists_are_cut_without_all(void **state)
{
	struct fixture *f = *state;
	char name[32];

	job(f, "aaaa0001", "split");
	for (int i = 0; i < 50; i++) {
		(void)snprintf(name, sizeof(name), "part-%02d", i);
		output(f, name, name);
	}
	record(f);
	expect_part(f, &cmd_show, "@1", "  ... and 10 more (--all)\n");
	assert_null(strstr(str_cstr(&f->out), "part-40"));
	expect_part(f, &cmd_show, "@1 --all", "part-49\n");
}

static void a_closed_session_is_found_by_its_uid(void **state)
{
	struct fixture *f = *state;
	char words[64];

	record_pipeline(f);
	assert_int_equal(roar(f, &cmd_reset, "-y"), 0);
	(void)snprintf(words, sizeof(words), "--session %.10s", f->session.uid);
	expect_part(f, &cmd_show, words, "Session SESSION (closed)\n");
	expect_part(f, &cmd_show, words + strlen("--session "),
		    "Session SESSION (closed)\n");
	expect_part(f, &cmd_show, f->session.uid, "Session SESSION (closed)\n");
	expect(f, &cmd_show, "--session ffff", 1, "",
	       "roar: session 'ffff' does not exist: 'roar log "
	       "--all-sessions' lists the sessions\n");
}

static void one_thing_at_a_time(void **state)
{
	expect(*state, &cmd_show, "@1 --path x", 2, "",
	       "roar: only one of REF, --path, --job, --artifact and "
	       "--session can be given (see 'roar show --help')\n");
	assert_int_equal(roar(*state, &cmd_show, "--job @1 --session"), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(without_a_word_the_session_is_shown),
		FIXTURE_TEST(an_empty_session_says_what_to_do),
		FIXTURE_TEST(a_job_names_the_makers_of_its_inputs),
		FIXTURE_TEST(a_job_shows_git_gaps_and_all_kinds_of_files),
		FIXTURE_TEST(a_rerun_tells_which_execution_it_is),
		FIXTURE_TEST(an_artifact_is_found_by_path_and_by_hash),
		FIXTURE_TEST(reruns_are_folded_to_the_latest),
		FIXTURE_TEST(large_sizes_are_given_to_the_byte),
		FIXTURE_TEST(steps_of_closed_sessions_say_so),
		FIXTURE_TEST(the_place_of_an_artifact_is_looked_at),
		FIXTURE_TEST(names_cannot_drive_the_terminal),
		FIXTURE_TEST(long_lists_are_cut_without_all),
		FIXTURE_TEST(a_closed_session_is_found_by_its_uid),
		FIXTURE_TEST(one_thing_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
