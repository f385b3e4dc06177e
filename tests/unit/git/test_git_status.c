/* test_status.c - the output of git status, whole and in pieces. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "fixture.h"
#include "git/git_status.h"

#define H "0123456789012345678901234567890123456789"
#define TRACKED(xy, path) \
	"1 " xy " N... 100644 100644 100644 " H " " H " " path "\0"
#define RENAMED(xy, path, old)                                               \
	"2 " xy " N... 100644 100644 100644 " H " " H " R100 " path "\0" old \
	"\0"
#define CONFLICT(path) \
	"u UU N... 100644 100644 100644 100644 " H " " H " " H " " path "\0"

static const char sample[] = "# branch.oid x\0" TRACKED("M.", "staged") TRACKED(
	".M", "sp ace\n2") TRACKED(".D", "gone") RENAMED("R.", "new",
							 "old") CONFLICT("torn")
	TRACKED(".M",
		".roar/db") "? un\0? nest/\0? .roar/x\0! out/\0! a.pyc\0! c/a.pyc\0! c/b.pyc\0";

static void check_sample(const struct git_status *s)
{
	assert_int_equal(s->n_modified, 5);
	assert_int_equal(s->n_untracked, 2);
	assert_int_equal(s->n_changes, 7);
	assert_string_equal(s->changes[0].path, "staged");
	assert_false(s->changes[0].in_tree);
	assert_string_equal(s->changes[1].path, "sp ace\n2");
	assert_true(s->changes[1].in_tree);
	assert_true(s->changes[2].deleted);
	assert_string_equal(s->changes[3].path, "new");
	assert_string_equal(s->changes[4].path, "torn");
	assert_true(s->changes[4].in_tree);
	assert_true(s->changes[5].untracked);
	assert_string_equal(s->changes[6].path, "nest");
	assert_true(s->changes[6].submodule);
	assert_int_equal(s->ignored_dirs.count, 1);
	assert_int_equal(s->mixed_dirs.count, 1);
	assert_non_null(map_get(&s->mixed_dirs, "c", 1));
	assert_non_null(map_get(&s->ignored_dirs, "out", 3));
}

static void records_are_sorted_out(void **state)
{
	CLEANUP(git_status_release) struct git_status s;

	(void)state;
	git_status_init(&s, ".roar");
	assert_int_equal(git_status_feed(&s, sample, sizeof(sample) - 1), 0);
	check_sample(&s);
}

static void pieces_of_any_size_give_the_same(void **state)
{
	(void)state;
	for (size_t size = 1; size < 20; size++) {
		CLEANUP(git_status_release) struct git_status s;
		size_t len = sizeof(sample) - 1;

		git_status_init(&s, ".roar");
		for (size_t at = 0; at < len; at += size)
			assert_int_equal(git_status_feed(&s, sample + at,
							 len - at < size ?
								 len - at :
								 size),
					 0);
		check_sample(&s);
	}
}

static void unknown_records_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"?",
		"? ",
		"x path",
		"1 M. N",
		"1 .M N",
		"1 .M N... a b c d e",
		"hello world",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CLEANUP(git_status_release) struct git_status s;

		git_status_init(&s, NULL);
		assert_int_equal(git_status_feed(&s, bad[i], strlen(bad[i]) + 1),
				 -EBADMSG);
	}
}

static void endless_record_is_refused(void **state)
{
	CLEANUP(git_status_release) struct git_status s;
	char piece[4096];
	int r = 0;

	(void)state;
	memset(piece, 'x', sizeof(piece));
	git_status_init(&s, NULL);
	for (int i = 0; i < 100 && r == 0; i++)
		r = git_status_feed(&s, piece, sizeof(piece));
	assert_int_equal(r, -EBADMSG);
}

static void own_folder_is_told_from_its_neighbours(void **state)
{
	(void)state;
	assert_true(git_path_under(".roar", 5, ".roar"));
	assert_true(git_path_under(".roar/x", 7, ".roar"));
	assert_false(git_path_under(".roarx", 6, ".roar"));
	assert_false(git_path_under(".roa", 4, ".roar"));
	assert_false(git_path_under("x", 1, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_sorted_out),
		cmocka_unit_test(pieces_of_any_size_give_the_same),
		cmocka_unit_test(unknown_records_are_refused),
		cmocka_unit_test(endless_record_is_refused),
		cmocka_unit_test(own_folder_is_told_from_its_neighbours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
