/* test_moves.c - names that move; the language is described in script.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "script.h"

static void facts(const char *script, const char *expected)
{
	script_check(script_facts, script, expected);
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
	      "/b renamed-to < /a own prior = output\n");
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
	      "/a read-prior renamed-to < /x own prior = input output\n"
	      "/b opened-write created renamed-to own = output\n"
	      "/c renamed-to < /a own prior = output\n"
	      "/x moved-away =\n");
}

static void content_moved_away_and_back_is_still_prior(void **state)
{
	(void)state;
	facts("rename /a /b ino=1 size=3 mtime=5\n"
	      "rename /b /a ino=1 size=3 mtime=5\n"
	      "open r /a ino=1 size=3 mtime=5\n"
	      "after /a ino=1 size=3 mtime=5\n",
	      "/a read-prior renamed-to own = input\n"
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
	      "/new opened-write created renamed-to < /cur own prior = output\n"
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
	      "/new opened-write created renamed-to < /cur own prior = output\n"
	      "/cur read-prior renamed-to < /new own = input output\n");
}

static void moved_or_linked_unread_is_prior_unless_it_was_changed(void **state)
{
	(void)state;
	facts("rename /a /b ino=1 size=3 mtime=5\n"
	      "link /c /d ino=2 size=3 mtime=5\n"
	      "link /e /f ino=3 size=3 mtime=5\n"
	      "open wt /e ino=3 size=3 mtime=5\n"
	      "rename /g /h ino=4 size=3 mtime=5\n"
	      "open w /h ino=4 size=3 mtime=5\n"
	      "after /b ino=1 size=3 mtime=5 ctime=99\n"
	      "after /d ino=2 size=3 mtime=5 ctime=99\n"
	      "after /f ino=3 size=9 mtime=99\n"
	      "after /e ino=3 size=9 mtime=99\n"
	      "after /h ino=4 size=9 mtime=99\n",
	      "/a moved-away =\n"
	      "/b renamed-to < /a own prior = output\n"
	      "/c =\n"
	      "/d linked-to < /c own prior = output\n"
	      "/e opened-write truncated own = output\n"
	      "/f linked-to < /e own = output\n"
	      "/g moved-away =\n"
	      "/h opened-write renamed-to < /g own = output\n");
}

static void what_came_home_is_an_output_only_when_it_was_changed(void **state)
{
	(void)state;
	facts("rename /a /b ino=1 size=3 mtime=5\n"
	      "rename /b /a ino=1 size=3 mtime=5\n"
	      "rename /c /d ino=2 size=3 mtime=5\n"
	      "open w /d ino=2 size=3 mtime=5\n"
	      "rename /d /c ino=2 size=4 mtime=99\n"
	      "after /a ino=1 size=3 mtime=5 ctime=99\n"
	      "after /c ino=2 size=4 mtime=99\n",
	      "/a renamed-to own =\n"
	      "/b renamed-to moved-away =\n"
	      "/c renamed-to < /d own = output\n"
	      "/d opened-write renamed-to moved-away =\n");
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
	      "/e/s/b renamed-to < /d/s/b own prior = output\n");
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
	      "/f/x renamed-to < /d/x own prior = output\n"
	      "/d/x read-prior moved-away = input\n");
}

static void a_name_found_in_a_moved_directory_came_with_it(void **state)
{
	(void)state;
	facts("rename /d /x type=dir ino=9\n"
	      "rename /x /e type=dir ino=9\n"
	      "found /e/f ino=1 size=3 mtime=5\n"
	      "found /e/l type=sym ino=2 size=3 mtime=5\n"
	      "after /e/f ino=1 size=3 mtime=5\n"
	      "after /e/l ino=2 size=3 mtime=5\n",
	      "/e/f renamed-to < /d/f own prior = output\n"
	      "/d/f moved-away =\n"
	      "/e/l renamed-to < /d/l own prior = output\n"
	      "/d/l moved-away =\n");
	/* the old name has other content by now */
	facts("rename /d /e type=dir ino=9\n"
	      "open wc /d/f\n"
	      "found /e/f ino=1 size=3 mtime=5\n"
	      "after /d/f ino=3 size=3 mtime=99\n"
	      "after /e/f ino=1 size=3 mtime=5\n",
	      "/d/f opened-write created own = output\n"
	      "/e/f renamed-to < /d/f own prior = output\n");
	/* what had the name before went with its own directory */
	facts("open wc /d/f\n"
	      "rename /d /old type=dir ino=8\n"
	      "rename /new /d type=dir ino=9\n"
	      "found /d/f ino=1 size=3 mtime=5\n"
	      "after /d/f ino=1 size=3 mtime=5\n"
	      "after /old/f ino=2 size=3 mtime=99\n",
	      "/d/f opened-write created renamed-to < /new/f own prior = "
	      "output\n"
	      "/old/f renamed-to < /d/f own = output\n"
	      "/new/f moved-away =\n");
	/* nothing came there since */
	facts("open wc /d/f\n"
	      "rename /d /old type=dir ino=8\n"
	      "found /d/f ino=2 size=3 mtime=99\n"
	      "after /old/f ino=2 size=3 mtime=99\n",
	      "/d/f opened-write created moved-away =\n"
	      "/old/f renamed-to < /d/f own = output\n");
	/* a directory that others made where the run had removed one */
	facts("rename /d /e type=dir ino=9\n"
	      "unlink /e type=dir ino=9\n"
	      "found /e/f ino=1 size=3 mtime=5\n"
	      "after /e/f ino=1 size=3 mtime=5\n",
	      "/e/f =\n");
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
	      "/d.old/x renamed-to < /d/x own prior = output\n");
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
	      "/n/a opened-write created renamed-to < /c/a own prior = output\n"
	      "/c/a read-prior read-own renamed-to < /n/a own = "
	      "input output intermediate\n"
	      "/n/b renamed-to < /c/b own prior = output\n"
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
	      "/b linked-to < /a own prior = output\n");
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

static void what_was_read_and_then_written_by_another_name_is_both(void **state)
{
	(void)state;
	facts("open r /a ino=1 size=3 mtime=5\n"
	      "open wt /b ino=1 size=3 mtime=5\n"
	      "after /a ino=1 size=9 mtime=99\n"
	      "after /b ino=1 size=9 mtime=99\n",
	      "/a read-prior opened-write = input output\n"
	      "/b opened-write truncated own = output\n");
}

/* The file that was read may have been removed by somebody else. */
static void a_file_of_another_stamp_is_not_the_one_that_was_read(void **state)
{
	(void)state;
	facts("open r /a ino=1 size=3 mtime=5\n"
	      "open w /b ino=1 size=4 mtime=6\n"
	      "after /a ino=2 size=9 mtime=99\n"
	      "after /b ino=1 size=9 mtime=99\n",
	      "/a read-prior = input\n"
	      "/b opened-write = output\n");
	facts("open r /a ino=1 size=3 mtime=5\n"
	      "rename /t /a ino=2 size=3 mtime=5\n"
	      "open w /a ino=2 size=3 mtime=5\n"
	      "open r /x ino=1 size=4 mtime=6\n"
	      "after /a ino=2 size=9 mtime=99\n"
	      "after /x ino=1 size=4 mtime=6\n",
	      "/a read-prior opened-write renamed-to removed < /t own = "
	      "input output\n"
	      "/t moved-away =\n"
	      "/x read-prior = input\n");
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

/* ---- what may change without its stamp ---- */

static const struct lineage_file *last_of(struct fold *fold, const char *script,
					  const char *path)
{
	const struct lineage_file *file;

	script_play(fold, script);
	file = fold_find(fold, path);
	assert_non_null(file);
	return file;
}

static void what_may_be_mapped_may_be_so_under_its_next_name(void **state)
{
	CLEANUP(fold_freep) struct fold *fold = NULL;

	(void)state;
	assert_int_equal(fold_new(&fold), 0);
	assert_true(last_of(fold, "open rwc /t\n", "/t")->restless);
	assert_true(last_of(fold, "rename /t /x ino=1\n", "/x")->restless);
	assert_false(fold_find(fold, "/t")->restless);
	assert_false(last_of(fold, "open wc /t\n", "/t")->restless);
	assert_false(last_of(fold, "rename /t /y ino=2\n", "/y")->restless);
	assert_false(
		last_of(fold, "unlink /x ino=1\nopen wc /x\n", "/x")->restless);
}

static void what_has_two_names_may_change_through_each(void **state)
{
	CLEANUP(fold_freep) struct fold *fold = NULL;

	(void)state;
	assert_int_equal(fold_new(&fold), 0);
	assert_true(
		last_of(fold, "open wc /a\nlink /a /b ino=1\n", "/a")->restless);
	assert_true(fold_find(fold, "/b")->restless);
	assert_true(
		last_of(fold, "open rwT /\nlink - /c ino=2\n", "/c")->restless);
}

static void writers_are_counted_wherever_their_file_goes(void **state)
{
	CLEANUP(fold_freep) struct fold *fold = NULL;

	(void)state;
	assert_int_equal(fold_new(&fold), 0);
	assert_int_equal(
		last_of(fold, "open wc /a\nopen w /a ino=1\n", "/a")->n_writers,
		2);
	assert_int_equal(
		last_of(fold, "rename /a /b ino=1\nclose /b\n", "/b")->n_writers,
		1);
	assert_int_equal(fold_find(fold, "/a")->n_writers, 0);
	assert_int_equal(last_of(fold, "close /b\nclose /b\n", "/b")->n_writers,
			 0);
	for (int i = 0; i < 100; i++)
		script_play(fold, "open w /b ino=1\n");
	assert_int_equal(last_of(fold, "close /b\n", "/b")->n_writers,
			 LINEAGE_WRITERS_MAX);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
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
		T(moved_or_linked_unread_is_prior_unless_it_was_changed),
		T(what_came_home_is_an_output_only_when_it_was_changed),
		T(directories_are_ignored),
		T(renaming_a_directory_moves_the_names_below),
		T(names_gone_before_the_directory_moved_stay_gone),
		T(a_name_first_seen_in_a_moved_directory_counts_for_the_old),
		T(a_name_found_in_a_moved_directory_came_with_it),
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
		T(what_was_read_and_then_written_by_another_name_is_both),
		T(a_file_of_another_stamp_is_not_the_one_that_was_read),
		T(an_unchanged_second_name_is_an_input),
		T(an_inode_used_again_is_no_second_name),
		T(what_may_be_mapped_may_be_so_under_its_next_name),
		T(what_has_two_names_may_change_through_each),
		T(writers_are_counted_wherever_their_file_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
