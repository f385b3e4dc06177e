/* test_fold.c - events in, facts out; the language is described in script.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "script.h"

static void check(void (*play)(const char *, struct str *), const char *script,
		  const char *expected)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	play(script, &out);
	assert_string_equal(str_cstr(&out), expected);
}

static void facts(const char *script, const char *expected)
{
	check(script_facts, script, expected);
}

static void news(const char *script, const char *expected)
{
	check(script_news, script, expected);
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

/* ---- renames ---- */

static void renamed_into_place_is_an_output_and_its_source_nothing(void **state)
{
	(void)state;
	facts("open wc /a.tmp\n"
	      "rename /a.tmp /a ino=1 size=3 mtime=9\n"
	      "after /a ino=1 size=3 mtime=9\n",
	      "/a.tmp opened-write created moved-away =\n"
	      "/a renamed-to < /a.tmp own = output\n");
}

static void renaming_over_an_input_keeps_the_input(void **state)
{
	CLEANUP(fold_freep) struct fold *fold = NULL;
	struct lineage_file *file;

	(void)state;
	facts("open r /a ino=1 size=3 mtime=5\n"
	      "open wc /a.tmp\n"
	      "rename /a.tmp /a ino=2 size=9 mtime=9\n"
	      "after /a ino=2 size=9 mtime=9\n",
	      "/a read-prior renamed-to removed < /a.tmp own = input output\n"
	      "/a.tmp opened-write created moved-away =\n");
	assert_int_equal(fold_new(&fold), 0);
	script_play(fold, "open r /a ino=1 size=3 mtime=5\n"
			  "open wc /a.tmp\n"
			  "rename /a.tmp /a ino=2 size=9 mtime=9\n");
	file = fold_find(fold, "/a");
	assert_int_equal(file->first.ino, 1);
	assert_int_equal(file->first.size, 3);
}

static void prior_content_read_after_a_rename_counts_for_the_old_name(void **s)
{
	(void)s;
	facts("rename /a /b ino=1 size=3 mtime=5\n"
	      "open r /b ino=1 size=3 mtime=5 ctime=99\n"
	      "after /b ino=1 size=3 mtime=5\n",
	      "/a read-prior moved-away = input\n"
	      "/b renamed-to < /a own = output\n");
}

static void it_does_so_through_any_number_of_renames(void **state)
{
	(void)state;
	facts("rename /a /b ino=1 size=3 mtime=5\n"
	      "rename /b /c ino=1 size=3 mtime=5\n"
	      "open wc /b\n"
	      "rename /x /a ino=7 size=3 mtime=5\n"
	      "open r /c ino=1 size=3 mtime=5\n"
	      "after /c ino=1 size=3 mtime=5\n"
	      "after /a ino=7 size=3 mtime=5\n"
	      "after /b ino=8 size=3 mtime=5\n",
	      "/a read-prior renamed-to < /x own = input output\n"
	      "/b opened-write created renamed-to own = output\n"
	      "/c renamed-to < /a own = output\n"
	      "/x moved-away =\n");
}

static void content_moved_away_and_back_is_still_prior(void **state)
{
	(void)state;
	facts("rename /a /b ino=1 size=3 mtime=5\n"
	      "rename /b /a ino=1 size=3 mtime=5\n"
	      "open r /a ino=1 size=3 mtime=5\n"
	      "after /a ino=1 size=3 mtime=5\n",
	      "/a read-prior renamed-to own = input output\n"
	      "/b renamed-to moved-away =\n");
}

static void moved_content_that_the_run_changed_is_own(void **state)
{
	(void)state;
	facts("rename /a /b ino=1 size=3 mtime=5\n"
	      "open w /b ino=1 size=3 mtime=5\n"
	      "open r /b ino=1 size=8 mtime=99\n"
	      "after /b ino=1 size=8 mtime=99\n",
	      "/a moved-away =\n"
	      "/b read-own opened-write renamed-to < /a own = "
	      "output intermediate\n");
}

static void content_written_before_it_moved_is_own(void **state)
{
	(void)state;
	facts("open w /a ino=1 size=3 mtime=5\n"
	      "rename /a /b ino=1 size=8 mtime=99\n"
	      "open r /b ino=1 size=8 mtime=99\n"
	      "after /b ino=1 size=8 mtime=99\n",
	      "/a opened-write moved-away =\n"
	      "/b read-own renamed-to < /a own = output intermediate\n");
}

static void renaming_a_name_to_itself_is_nothing(void **state)
{
	(void)state;
	facts("rename /a /a ino=1 size=3 mtime=5\n", "");
}

static void an_exchange_swaps_both_names(void **state)
{
	(void)state;
	facts("open wc /new\n"
	      "open r /cur ino=2 size=3 mtime=5\n"
	      "rename /new /cur x ino=1 size=3 mtime=9\n"
	      "open r /cur ino=1 size=3 mtime=9\n"
	      "open r /new ino=2 size=3 mtime=5\n"
	      "after /new ino=2 size=3 mtime=5\n"
	      "after /cur ino=1 size=3 mtime=9\n",
	      "/new opened-write created renamed-to < /cur own = output\n"
	      "/cur read-prior read-own renamed-to < /new own = "
	      "input output intermediate\n");
}

static void an_exchange_with_an_unknown_name_keeps_it_prior(void **state)
{
	(void)state;
	facts("open wc /new\n"
	      "rename /new /cur x ino=1 size=3 mtime=9\n"
	      "open r /new ino=2 size=3 mtime=5\n"
	      "after /new ino=2 size=3 mtime=5\n"
	      "after /cur ino=1 size=3 mtime=9\n",
	      "/new opened-write created renamed-to < /cur own = output\n"
	      "/cur read-prior renamed-to < /new own = input output\n");
}

/* ---- directories ---- */

static void directories_are_ignored(void **state)
{
	(void)state;
	facts("open r /d type=dir ino=1\n"
	      "unlink /d type=dir ino=1\n",
	      "");
}

static void renaming_a_directory_moves_the_names_below(void **state)
{
	(void)state;
	facts("open wc /d/a\n"
	      "open r /d/s/b ino=2 size=3 mtime=5\n"
	      "open wc /dx\n"
	      "rename /d /e type=dir ino=9\n"
	      "open r /e/a ino=1 size=3 mtime=9\n"
	      "open r /e/s/b ino=2 size=3 mtime=5\n"
	      "after /e/a ino=1 size=3 mtime=9\n"
	      "after /e/s/b ino=2 size=3 mtime=5\n"
	      "after /dx ino=3 size=3 mtime=5\n",
	      "/d/a opened-write created moved-away =\n"
	      "/d/s/b read-prior moved-away = input\n"
	      "/dx opened-write created own = output\n"
	      "/e/a read-own renamed-to < /d/a own = output intermediate\n"
	      "/e/s/b renamed-to < /d/s/b own = output\n");
}

static void names_gone_before_the_directory_moved_stay_gone(void **state)
{
	(void)state;
	facts("open wc /d/a\n"
	      "unlink /d/a ino=1\n"
	      "rename /d /e type=dir ino=9\n",
	      "/d/a opened-write created removed = temporary\n");
}

static void a_name_first_seen_in_a_moved_directory_counts_for_the_old(void **s)
{
	(void)s;
	facts("rename /d /e type=dir ino=9\n"
	      "rename /e /f type=dir ino=9\n"
	      "open r /f/x ino=1 size=3 mtime=5\n"
	      "after /f/x ino=1 size=3 mtime=5\n",
	      "/f/x renamed-to < /d/x own = output\n"
	      "/d/x read-prior moved-away = input\n");
}

static void a_name_created_in_a_moved_directory_has_no_origin(void **state)
{
	(void)state;
	facts("rename /d /e type=dir ino=9\n"
	      "open wc /e/x\n"
	      "after /e/x ino=1 size=3 mtime=5\n",
	      "/e/x opened-write created own = output\n");
}

static void a_directory_made_again_where_one_left_starts_anew(void **state)
{
	(void)state;
	facts("rename /d /e type=dir ino=9\n"
	      "rename /e /f type=dir ino=9\n"
	      "open r /e/x ino=1 size=3 mtime=5\n"
	      "rename /f /g type=dir ino=9\n"
	      "unlink /g type=dir ino=9\n"
	      "open r /g/x ino=2 size=3 mtime=5\n",
	      "/e/x read-prior = input\n"
	      "/g/x read-prior = input\n");
}

static void a_backup_directory_keeps_its_content_apart_from_the_new(void **s)
{
	(void)s;
	facts("rename /d /d.old type=dir ino=9\n"
	      "open wc /d/x\n"
	      "open r /d.old/x ino=1 size=3 mtime=5\n"
	      "after /d/x ino=2 size=3 mtime=5\n"
	      "after /d.old/x ino=1 size=3 mtime=5\n",
	      "/d/x read-prior opened-write created own = input output\n"
	      "/d.old/x renamed-to < /d/x own = output\n");
}

static void an_exchange_of_directories_swaps_what_is_below(void **state)
{
	(void)state;
	facts("open wc /n/a\n"
	      "open r /c/a ino=2 size=3 mtime=5\n"
	      "rename /n /c x type=dir ino=9\n"
	      "open r /c/a ino=1 size=3 mtime=9\n"
	      "open r /n/b ino=3 size=3 mtime=5\n"
	      "after /n/a ino=2 size=3 mtime=5\n"
	      "after /c/a ino=1 size=3 mtime=9\n"
	      "after /n/b ino=3 size=3 mtime=5\n",
	      "/n/a opened-write created renamed-to < /c/a own = output\n"
	      "/c/a read-prior read-own renamed-to < /n/a own = "
	      "input output intermediate\n"
	      "/n/b renamed-to < /c/b own = output\n"
	      "/c/b read-prior moved-away = input\n");
}

static void a_directory_of_ten_thousand_names_moves_at_once(void **state)
{
	CLEANUP(fold_freep) struct fold *fold = NULL;
	struct stamp gone = { .ino = 0 };
	struct stamp there = { .ino = 1 };
	struct fold_change change;
	struct lineage_file *file;
	char path[64];
	size_t n;

	(void)state;
	assert_int_equal(fold_new(&fold), 0);
	for (int i = 0; i < 10000; i++) {
		(void)snprintf(path, sizeof(path), "/tmp.d/%d/f%d", i % 7, i);
		assert_int_equal(script_event(fold, EVENT_OPEN,
					      EVENT_WRITE | EVENT_CREATE, path,
					      "", NULL, &change),
				 0);
	}
	script_play(fold, "rename /tmp.d /final type=dir ino=9\n");
	(void)fold_files(fold, &n);
	assert_int_equal(n, 20000);
	for (int i = 0; i < 10000; i++) {
		(void)snprintf(path, sizeof(path), "/final/%d/f%d", i % 7, i);
		file = fold_find(fold, path);
		assert_non_null(file);
		assert_true(file->own);
		assert_int_equal(lineage_roles(file, &there), LINEAGE_OUTPUT);
		assert_int_equal(lineage_roles(file->origin, &gone), 0);
	}
}

/* ---- links ---- */

static void an_unnamed_temporary_file_alone_leaves_nothing(void **state)
{
	(void)state;
	facts("open rwT /d type=dir ino=9\n", "");
}

static void an_unnamed_temporary_file_becomes_an_output_by_its_link(void **s)
{
	(void)s;
	facts("open rwT /d type=dir ino=9\n"
	      "link - /d/a ino=1 size=3 mtime=9\n"
	      "open r /d/a ino=1 size=3 mtime=9\n"
	      "after /d/a ino=1 size=3 mtime=9\n",
	      "/d/a read-own linked-to own = output intermediate\n");
}

static void a_symbolic_link_is_an_output(void **state)
{
	(void)state;
	facts("symlink ../x /l\n"
	      "after /l ino=1 size=4 mtime=9 type=sym\n",
	      "/l linked-to own = output\n");
}

static void a_link_to_what_the_run_made_is_own(void **state)
{
	(void)state;
	facts("open wc /a\n"
	      "link /a /b ino=1 size=3 mtime=9\n"
	      "open r /b ino=1 size=3 mtime=9\n"
	      "after /a ino=1 size=3 mtime=9\n"
	      "after /b ino=1 size=3 mtime=9\n",
	      "/a opened-write created own = output\n"
	      "/b read-own linked-to < /a own = output intermediate\n");
}

static void prior_content_read_through_a_new_link_counts_for_the_old(void **s)
{
	(void)s;
	facts("link /a /b ino=1 size=3 mtime=5\n"
	      "open r /b ino=1 size=3 mtime=5 ctime=99\n"
	      "after /a ino=1 size=3 mtime=5 ctime=99\n"
	      "after /b ino=1 size=3 mtime=5 ctime=99\n",
	      "/a read-prior = input\n"
	      "/b linked-to < /a own = output\n");
}

static void a_write_through_a_new_link_makes_both_names_outputs(void **state)
{
	(void)state;
	facts("link /a /b ino=1 size=3 mtime=5\n"
	      "open wt /b ino=1 size=3 mtime=5\n"
	      "open r /a ino=1 size=9 mtime=99\n"
	      "after /a ino=1 size=9 mtime=99\n"
	      "after /b ino=1 size=9 mtime=99\n",
	      "/a read-own opened-write own = output intermediate\n"
	      "/b opened-write truncated linked-to own = output\n");
}

static void a_write_through_an_old_link_is_seen_by_the_other_name(void **state)
{
	(void)state;
	facts("open wt /b ino=1 size=3 mtime=5\n"
	      "open r /a ino=1 size=9 mtime=99\n"
	      "after /a ino=1 size=9 mtime=99\n"
	      "after /b ino=1 size=9 mtime=99\n",
	      "/b opened-write truncated own = output\n"
	      "/a read-own opened-write own = output intermediate\n");
}

static void an_unchanged_second_name_is_an_input(void **state)
{
	(void)state;
	facts("open w /b ino=1 size=3 mtime=5\n"
	      "open r /a ino=1 size=3 mtime=5\n"
	      "after /a ino=1 size=3 mtime=5\n"
	      "after /b ino=1 size=3 mtime=5\n",
	      "/b opened-write = touched\n"
	      "/a read-prior = input\n");
}

static void an_inode_used_again_is_no_second_name(void **state)
{
	(void)state;
	facts("open wt /b ino=1 size=3 mtime=5\n"
	      "unlink /b ino=1 size=9 mtime=99\n"
	      "open r /a ino=1 size=9 mtime=77\n"
	      "after /a ino=1 size=9 mtime=77\n",
	      "/b opened-write truncated removed = temporary\n"
	      "/a read-prior = input\n");
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

/* ---- order ---- */

static void the_first_reader_and_writer_are_kept_with_their_order(void **state)
{
	CLEANUP(fold_freep) struct fold *fold = NULL;
	const struct lineage_file *a;

	(void)state;
	assert_int_equal(fold_new(&fold), 0);
	script_play(fold, "fork pid=2 aux=1\n"
			  "open r /a ino=1 size=3 mtime=5 pid=4\n"
			  "open r /a ino=1 size=3 mtime=5 pid=5\n"
			  "open wt /a ino=1 size=3 mtime=5 pid=6\n"
			  "open wt /a ino=1 size=3 mtime=5 pid=7\n");
	a = fold_find(fold, "/a");
	assert_int_equal(a->read_order, 2);
	assert_int_equal(a->reader, 4);
	assert_int_equal(a->write_order, 4);
	assert_int_equal(a->writer, 6);
	assert_int_equal(a->ftype, EVENT_FTYPE_REGULAR);
	assert_int_equal(a->first_ns / 1000000000, 1000001);
	assert_null(fold_find(fold, "/b"));
}

static void names_that_are_not_absolute_are_gaps(void **state)
{
	(void)state;
	facts("open r a ino=1\n"
	      "rename /a b ino=1\n",
	      "");
	check(script_gaps, "open r \"a b\" ino=1\n", "path \"a b\" x1\n");
}

/* ---- news ---- */

static void becoming_an_input_is_news_once_and_for_regular_files(void **state)
{
	(void)state;
	news("open r /a ino=1 size=3 mtime=5\n"
	     "open r /a ino=1 size=3 mtime=5\n"
	     "open r /f type=fifo ino=2\n"
	     "open rw /b ino=3 size=3 mtime=5\n"
	     "exec /x ino=4 size=3 mtime=5\n",
	     "input /a\n"
	     "input /b\n"
	     "input /x\n");
}

static void an_input_that_moved_is_told_with_the_name_it_has_now(void **state)
{
	(void)state;
	news("rename /a /b ino=1 size=3 mtime=5\n"
	     "open r /b ino=1 size=3 mtime=5\n",
	     "input /a at /b\n");
}

static void closing_what_is_own_is_news(void **state)
{
	(void)state;
	news("open wc /a\n"
	     "close /a\n"
	     "close /a\n"
	     "open r /b ino=1 size=3 mtime=5\n"
	     "close /b\n"
	     "close /unknown\n",
	     "closed /a\n"
	     "closed /a\n"
	     "input /b\n");
}

static void writing_again_what_was_closed_is_news(void **state)
{
	(void)state;
	news("open wc /a\n"
	     "close /a\n"
	     "open w /a ino=1 size=3 mtime=5\n"
	     "open w /a ino=1 size=3 mtime=5\n"
	     "close /a\n"
	     "truncate /a ino=1 size=3 mtime=5\n"
	     "close /a\n"
	     "unlink /a ino=1 size=3 mtime=5\n"
	     "open wc /a\n",
	     "closed /a\n"
	     "rewritten /a\n"
	     "closed /a\n"
	     "rewritten /a\n"
	     "closed /a\n"
	     "rewritten /a\n");
}

static void a_rename_hands_on_what_was_closed(void **state)
{
	(void)state;
	news("open wc /t\n"
	     "close /t\n"
	     "rename /t /a ino=1 size=3 mtime=5\n"
	     "open wc /t\n"
	     "close /t\n"
	     "rename /t /a ino=2 size=3 mtime=6\n"
	     "open w /a ino=2 size=3 mtime=6\n",
	     "closed /t\n"
	     "closed /a\n"
	     "rewritten /t\n"
	     "closed /t\n"
	     "rewritten /a\n"
	     "rewritten /a\n");
}

/* ---- size ---- */

static void a_million_files_take_about_200_bytes_each(void **state)
{
	CLEANUP(fold_freep) struct fold *fold = NULL;
	struct stamp s = { .dev = 1, .size = 9, .mtime_ns = 5, .ctime_ns = 5 };
	struct fold_change change;
	char path[128];
	size_t used;
	size_t n;

	(void)state;
	assert_int_equal(fold_new(&fold), 0);
	for (unsigned i = 0; i < 1000000; i++) {
		s.ino = i + 1;
		(void)snprintf(path, sizeof(path),
			       "/home/user/data/train/shard-%04u/img-%06u.jpg",
			       i / 1000, i);
		assert_int_equal(script_event(fold, EVENT_OPEN, EVENT_READ,
					      path, "", &s, &change),
				 0);
	}
	(void)fold_files(fold, &n);
	assert_int_equal(n, 1000000);
	used = fold_memory(fold);
	print_message("%zu bytes a file\n", used / n);
	assert_true(used <= 220u * 1000 * 1000);
}

/* ---- no memory ---- */

/* A history that touches everything, with allocations that fail after `n`.
 * Returns whether any did. */
static bool play_with_memory_for(int n)
{
	static const char *const names[] = { "/d/a", "/d/s/b", "/d/t/u/c" };
	static const struct stamp s = { .dev = 1, .ino = 7, .size = 1 };
	CLEANUP(fold_freep) struct fold *fold = NULL;
	const struct lineage_gap *gaps = NULL;
	struct fold_change change;
	size_t n_gaps = 0;
	bool failed;
	int r;

	alloc_fail_after(n);
	r = fold_new(&fold);
	alloc_fail_never();
	if (r < 0)
		return true;
	failed = false;
	for (size_t i = 0; i < 3; i++)
		failed |= script_event_failing(fold, EVENT_OPEN, EVENT_READ,
					       names[i], "", &s, n) < 0;
	failed |= script_event_failing(fold, EVENT_LINK, 0, "/d/a", "/d/l", &s,
				       n) < 0;
	failed |= script_event_failing(fold, EVENT_EXEC, 0, "/d/a", "x y", &s,
				       n) < 0;
	failed |= script_event_failing(fold, EVENT_RENAME, EVENT_EXCHANGE, "/d",
				       "/e", &s, n) < 0;
	failed |= script_event_failing(fold, EVENT_OPEN, EVENT_READ, "/e/new",
				       "", &s, n) < 0;
	alloc_fail_after(n);
	fold_add_gap(fold, EVENT_GAP_PATH, "detail");
	alloc_fail_never();
	gaps = fold_gaps(fold, &n_gaps);
	if (failed) {
		bool told = false;

		for (size_t i = 0; i < n_gaps; i++)
			told |= gaps[i].code == EVENT_GAP_MEMORY;
		assert_true(told);
	}
	assert_int_equal(script_event(fold, EVENT_OPEN, EVENT_READ, "/z", "",
				      &s, &change),
			 0);
	return failed;
}

static void lost_memory_is_a_gap_and_never_a_crash(void **state)
{
	int n = 0;

	(void)state;
	while (play_with_memory_for(n))
		assert_true(n++ < 1000);
	assert_true(n > 2);
}

static void free_takes_null(void **state)
{
	(void)state;
	fold_free(NULL);
}

#define T(name) cmocka_unit_test(name)

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
		T(renamed_into_place_is_an_output_and_its_source_nothing),
		T(renaming_over_an_input_keeps_the_input),
		T(prior_content_read_after_a_rename_counts_for_the_old_name),
		T(it_does_so_through_any_number_of_renames),
		T(content_moved_away_and_back_is_still_prior),
		T(moved_content_that_the_run_changed_is_own),
		T(content_written_before_it_moved_is_own),
		T(renaming_a_name_to_itself_is_nothing),
		T(an_exchange_swaps_both_names),
		T(an_exchange_with_an_unknown_name_keeps_it_prior),
		T(directories_are_ignored),
		T(renaming_a_directory_moves_the_names_below),
		T(names_gone_before_the_directory_moved_stay_gone),
		T(a_name_first_seen_in_a_moved_directory_counts_for_the_old),
		T(a_name_created_in_a_moved_directory_has_no_origin),
		T(a_directory_made_again_where_one_left_starts_anew),
		T(a_backup_directory_keeps_its_content_apart_from_the_new),
		T(an_exchange_of_directories_swaps_what_is_below),
		T(a_directory_of_ten_thousand_names_moves_at_once),
		T(an_unnamed_temporary_file_alone_leaves_nothing),
		T(an_unnamed_temporary_file_becomes_an_output_by_its_link),
		T(a_symbolic_link_is_an_output),
		T(a_link_to_what_the_run_made_is_own),
		T(prior_content_read_through_a_new_link_counts_for_the_old),
		T(a_write_through_a_new_link_makes_both_names_outputs),
		T(a_write_through_an_old_link_is_seen_by_the_other_name),
		T(an_unchanged_second_name_is_an_input),
		T(an_inode_used_again_is_no_second_name),
		T(devices_and_fifos_are_never_outputs_by_being_opened),
		T(the_first_reader_and_writer_are_kept_with_their_order),
		T(names_that_are_not_absolute_are_gaps),
		T(becoming_an_input_is_news_once_and_for_regular_files),
		T(an_input_that_moved_is_told_with_the_name_it_has_now),
		T(closing_what_is_own_is_news),
		T(writing_again_what_was_closed_is_news),
		T(a_rename_hands_on_what_was_closed),
		T(a_million_files_take_about_200_bytes_each),
		T(lost_memory_is_a_gap_and_never_a_crash),
		T(free_takes_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
