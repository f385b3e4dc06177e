/* test_roles.c - what a file was to the run; the language is described in script.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "script.h"

static void facts(const char *script, const char *expected)
{
	script_check(script_facts, script, expected);
}

/* ---- inputs ---- */

static void a_file_that_was_there_and_is_read_is_an_input(void **state)
{
	(void)state;
	facts("open r /a ino=1 size=3 mtime=5\n"
	      "after /a ino=1 size=3 mtime=5\n",
	      "/a read-prior = input\n");
}

static void an_input_removed_by_the_run_stays_an_input(void **state)
{
	(void)state;
	facts("open r /a ino=1 size=3 mtime=5\n"
	      "unlink /a ino=1 size=3 mtime=5\n",
	      "/a read-prior removed = input\n");
}

static void an_input_overwritten_later_is_input_and_output(void **state)
{
	(void)state;
	facts("open r /a ino=1 size=3 mtime=5\n"
	      "open wt /a ino=1 size=3 mtime=5\n"
	      "after /a ino=1 size=9 mtime=99\n",
	      "/a read-prior opened-write truncated own = input output\n");
}

static void an_executed_file_is_an_input(void **state)
{
	(void)state;
	facts("exec /bin/x \"x 1\" ino=1 size=3 mtime=5\n"
	      "after /bin/x ino=1 size=3 mtime=5\n",
	      "/bin/x read-prior executed = input\n");
}

static void a_program_the_run_made_and_executed_is_intermediate(void **state)
{
	(void)state;
	facts("open wc /p\n"
	      "exec /p ino=1 size=3 mtime=9\n"
	      "after /p ino=1 size=3 mtime=9\n",
	      "/p read-own opened-write created executed own = "
	      "output intermediate\n");
}

static void an_inherited_descriptor_counts_and_is_marked(void **state)
{
	(void)state;
	facts("open ri /in ino=1 size=3 mtime=5\n"
	      "open wi /out ino=2 size=0 mtime=5\n"
	      "after /in ino=1 size=3 mtime=5\n"
	      "after /out ino=2 size=8 mtime=999\n",
	      "/in read-prior inherited = input\n"
	      "/out opened-write inherited = output\n");
}

static void prior_content_that_changes_between_reads_is_unstable(void **state)
{
	(void)state;
	facts("open r /a ino=1 size=3 mtime=5\n"
	      "open r /a ino=1 size=4 mtime=6\n",
	      "/a read-prior unstable = input\n");
}

static void a_change_of_mode_between_reads_is_not_unstable(void **state)
{
	(void)state;
	facts("open r /a ino=1 size=3 mtime=5 ctime=5\n"
	      "open r /a ino=1 size=3 mtime=5 ctime=70\n",
	      "/a read-prior = input\n");
}

/* ---- outputs ---- */

static void a_created_file_is_an_output_even_when_empty(void **state)
{
	(void)state;
	facts("open wc /stamp\n"
	      "after /stamp ino=1 size=0 mtime=9\n",
	      "/stamp opened-write created own = output\n");
}

static void a_file_created_read_only_is_an_output(void **state)
{
	(void)state;
	facts("open rc /lock\n"
	      "after /lock ino=1 size=0 mtime=9\n",
	      "/lock created own = output\n");
}

static void a_truncated_file_is_an_output_and_no_input(void **state)
{
	(void)state;
	facts("open wt /a ino=1 size=3 mtime=5\n"
	      "truncate /b ino=2 size=3 mtime=5\n"
	      "after /a ino=1 size=0 mtime=99\n"
	      "after /b ino=2 size=0 mtime=99\n",
	      "/a opened-write truncated own = output\n"
	      "/b truncated own = output\n");
}

static void opened_for_writing_and_changed_is_an_output(void **state)
{
	(void)state;
	facts("open w /log ino=1 size=3 mtime=5\n"
	      "after /log ino=1 size=9 mtime=99\n",
	      "/log opened-write = output\n");
}

static void opened_for_writing_and_unchanged_is_touched(void **state)
{
	(void)state;
	facts("open w /log ino=1 size=3 mtime=5\n"
	      "after /log ino=1 size=3 mtime=5\n",
	      "/log opened-write = touched\n");
}

static void a_stamp_too_young_to_tell_counts_as_written(void **state)
{
	(void)state;
	facts("open w /log ino=1 size=3 mtime=500 at=500\n"
	      "after /log ino=1 size=3 mtime=500\n",
	      "/log opened-write = output\n");
}

static void written_and_gone_is_temporary(void **state)
{
	(void)state;
	facts("open wc /t\n"
	      "unlink /t ino=1 size=3 mtime=9\n",
	      "/t opened-write created removed = temporary\n");
}

static void written_and_read_again_is_intermediate(void **state)
{
	(void)state;
	facts("open wc /m\n"
	      "open r /m ino=1 size=3 mtime=9\n"
	      "after /m ino=1 size=3 mtime=9\n",
	      "/m read-own opened-write created own = output intermediate\n");
}

static void a_temporary_that_was_read_is_both(void **state)
{
	(void)state;
	facts("open wc /m\n"
	      "open r /m ino=1 size=3 mtime=9\n"
	      "unlink /m ino=1 size=3 mtime=9\n",
	      "/m read-own opened-write created removed = "
	      "intermediate temporary\n");
}

/* ---- read and write at once ---- */

static void read_write_is_an_input_when_it_neither_made_nor_cut(void **state)
{
	(void)state;
	facts("open rw /db ino=1 size=3 mtime=5\n"
	      "after /db ino=1 size=3 mtime=5\n",
	      "/db read-prior opened-write = input\n");
}

static void read_write_that_changed_is_input_and_output(void **state)
{
	(void)state;
	facts("open rw /db ino=1 size=3 mtime=5\n"
	      "after /db ino=1 size=9 mtime=99\n",
	      "/db read-prior opened-write = input output\n");
}

static void read_write_that_created_or_cut_is_no_input(void **state)
{
	(void)state;
	facts("open rwc /a\n"
	      "open rwt /b ino=2 size=3 mtime=5\n"
	      "after /a ino=1 size=3 mtime=9\n"
	      "after /b ino=2 size=3 mtime=9\n",
	      "/a opened-write created own = output\n"
	      "/b opened-write truncated own = output\n");
}

static void what_was_appended_and_read_again_is_own(void **state)
{
	(void)state;
	facts("open w /log ino=1 size=3 mtime=5\n"
	      "open r /log ino=1 size=9 mtime=99\n"
	      "after /log ino=1 size=9 mtime=99\n",
	      "/log read-own opened-write own = output intermediate\n");
}

static void opened_for_writing_unchanged_and_read_is_an_input(void **state)
{
	(void)state;
	facts("open w /log ino=1 size=3 mtime=5\n"
	      "open r /log ino=1 size=3 mtime=5\n"
	      "after /log ino=1 size=3 mtime=5\n",
	      "/log read-prior opened-write = input\n");
}

/* ---- a name has several lives ---- */

static void removed_and_created_again_starts_anew(void **state)
{
	(void)state;
	facts("open r /a ino=1 size=3 mtime=5\n"
	      "unlink /a ino=1 size=3 mtime=5\n"
	      "open wc /a\n"
	      "open r /a ino=2 size=4 mtime=9\n"
	      "after /a ino=2 size=4 mtime=9\n",
	      "/a read-prior read-own opened-write created removed own = "
	      "input output intermediate\n");
}

static void what_others_put_where_ours_was_is_an_input(void **state)
{
	(void)state;
	facts("open wc /a\n"
	      "unlink /a ino=1 size=3 mtime=5\n"
	      "open r /a ino=7 size=4 mtime=9\n"
	      "after /a ino=7 size=4 mtime=9\n",
	      "/a read-prior opened-write created removed = input output\n");
}

/* ---- things without content ---- */

static void devices_and_fifos_are_never_outputs_by_being_opened(void **state)
{
	(void)state;
	facts("open wt /dev/null type=dev ino=1 mtime=5\n"
	      "open rw /fifo type=fifo ino=2 mtime=5\n"
	      "open w /sock type=sock ino=3 mtime=5\n"
	      "after /dev/null type=dev ino=1 mtime=9\n"
	      "after /fifo type=fifo ino=2 mtime=9\n"
	      "after /sock type=sock ino=3 mtime=9\n",
	      "/dev/null opened-write = touched\n"
	      "/fifo read-prior opened-write = input\n"
	      "/sock opened-write = touched\n");
}

/* ---- whose the name is ---- */

static bool is_fresh(const char *script, const char *path)
{
	CLEANUP(fold_freep) struct fold *fold = NULL;
	struct stamp after = { .ino = 7, .size = 1 };

	assert_int_equal(fold_new(&fold), 0);
	script_play(fold, script);
	return lineage_is_fresh(fold_find(fold, path), &after);
}

static void what_the_run_created_is_fresh(void **state)
{
	(void)state;
	assert_true(is_fresh("open wc /a\n", "/a"));
	assert_true(is_fresh("symlink ../x /a\n", "/a"));
	assert_false(is_fresh("open wt /a ino=1 size=3 mtime=5\n", "/a"));
	assert_false(is_fresh("open w /a ino=1 size=3 mtime=5\n", "/a"));
}

static void what_was_written_aside_and_renamed_is_fresh(void **state)
{
	(void)state;
	assert_true(is_fresh("open wc /t\nrename /t /a ino=7\n", "/a"));
	/* again and again: it replaced its own */
	assert_true(is_fresh("open wc /t\nrename /t /a ino=7\n"
			     "open wc /t\nrename /t /a ino=8\n",
			     "/a"));
	assert_true(is_fresh("symlink ../x /t\nrename /t /a ino=7 type=sym\n",
			     "/a"));
}

static void what_was_there_under_any_name_is_not_fresh(void **state)
{
	(void)state;
	/* moved; moved and then changed; replaced what had been looked at */
	assert_false(is_fresh("rename /b /a ino=1 size=3 mtime=5\n", "/a"));
	assert_false(is_fresh("rename /b /a ino=1 size=3 mtime=5\n"
			      "open w /a ino=1 size=3 mtime=5\n"
			      "open r /a ino=1 size=4 mtime=6\n",
			      "/a"));
	assert_false(is_fresh("open r /a ino=1 size=3 mtime=5\n"
			      "open wc /t\nrename /t /a ino=7\n",
			      "/a"));
	assert_false(is_fresh("unlink /a ino=1 size=3 mtime=5\n"
			      "open wc /a\n",
			      "/a"));
}

#define T(name) cmocka_unit_test(name)

/* Did process 7 alone write /a by these events? */
static bool alone(const char *script)
{
	struct fold *fold;
	bool answer;

	assert_int_equal(fold_new(&fold), 0);
	script_play(fold, script);
	answer = lineage_wrote_alone(fold_find(fold, "/a"), 7);
	fold_free(fold);
	return answer;
}

static void a_process_wrote_alone_what_no_other_opened_or_moved(void **state)
{
	static const char *const others[] = {
		"open wc /a pid=8\n",
		"open wc /a pid=7\nopen w /a pid=8\n",
		"open wc /a pid=8\nunlink /a pid=8\nopen wc /a pid=7\n",
		"open wc /a pid=7\ntruncate /a pid=8\n",
		"open w /a pid=7 ino=1 size=3 mtime=5\n",
		"open rwc /a pid=7\n",
		"open r /a pid=7 ino=1 size=3 mtime=5\nopen wt /a pid=7\n",
		"open wti /a pid=7 ino=1 size=3 mtime=5\n",
		"open wc /b pid=7\nrename /b /a pid=7\n",
		"open wc /a pid=7\nlink /a /b pid=7\n",
		"open wc /b pid=7\nlink /b /a pid=7\n",
		"open wc /a pid=7\nunlink /a pid=7\n",
	};

	(void)state;
	assert_true(alone("open wc /a pid=7\n"));
	assert_true(alone("open wt /a pid=7 ino=1 size=3 mtime=5\n"));
	assert_true(alone("open wc /a pid=7\nopen w /a pid=7\n"
			  "open r /a pid=8 ino=1 size=3 mtime=9\n"));
	assert_true(alone("open wc /a pid=7\nunlink /a pid=8\n"
			  "open wc /a pid=7\n"));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(alone(others[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_file_that_was_there_and_is_read_is_an_input),
		T(an_input_removed_by_the_run_stays_an_input),
		T(an_input_overwritten_later_is_input_and_output),
		T(an_executed_file_is_an_input),
		T(a_program_the_run_made_and_executed_is_intermediate),
		T(an_inherited_descriptor_counts_and_is_marked),
		T(prior_content_that_changes_between_reads_is_unstable),
		T(a_change_of_mode_between_reads_is_not_unstable),
		T(a_created_file_is_an_output_even_when_empty),
		T(a_file_created_read_only_is_an_output),
		T(a_truncated_file_is_an_output_and_no_input),
		T(opened_for_writing_and_changed_is_an_output),
		T(opened_for_writing_and_unchanged_is_touched),
		T(a_stamp_too_young_to_tell_counts_as_written),
		T(written_and_gone_is_temporary),
		T(written_and_read_again_is_intermediate),
		T(a_temporary_that_was_read_is_both),
		T(read_write_is_an_input_when_it_neither_made_nor_cut),
		T(read_write_that_changed_is_input_and_output),
		T(read_write_that_created_or_cut_is_no_input),
		T(what_was_appended_and_read_again_is_own),
		T(opened_for_writing_unchanged_and_read_is_an_input),
		T(removed_and_created_again_starts_anew),
		T(what_others_put_where_ours_was_is_an_input),
		T(devices_and_fifos_are_never_outputs_by_being_opened),
		T(what_the_run_created_is_fresh),
		T(what_was_written_aside_and_renamed_is_fresh),
		T(what_was_there_under_any_name_is_not_fresh),
		T(a_process_wrote_alone_what_no_other_opened_or_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
