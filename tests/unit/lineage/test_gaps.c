/* test_gaps.c - reasons why a record is incomplete. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "script.h"

static void check(const char *script, const char *expected)
{
	script_check(script_gaps, script, expected);
}

static void equal_reasons_are_counted_once(void **state)
{
	(void)state;
	check("gap /a aux=5\n"
	      "gap /b aux=5\n"
	      "gap /a aux=5\n"
	      "gap aux=2\n"
	      "gap aux=2\n",
	      "path \"/a\" x2\n"
	      "path \"/b\" x1\n"
	      "io_uring \"\" x2\n");
}

static void a_code_nobody_knows_is_a_loss(void **state)
{
	(void)state;
	check("gap odd aux=-3\n"
	      "gap odd aux=1000\n",
	      "lost \"odd\" x2\n");
}

/* The run made all of it, but its processes raced and the order is lost. */
static void content_read_before_the_run_put_it_there_is_a_gap(void **state)
{
	(void)state;
	check("fork root at=100\n"
	      "open r /a ino=5 size=1 mtime=101 at=102\n"
	      "rename /b /a ino=5 size=1 mtime=101 at=102\n"
	      "open wc /c at=103\n"
	      "unlink /c ino=6 size=1 mtime=103 at=104\n"
	      "open r /c ino=7 size=1 mtime=104 at=105\n",
	      "changed \"/a\" x1\n"
	      "changed \"/c\" x1\n");
}

static void replacing_an_input_is_no_gap(void **state)
{
	(void)state;
	check("fork root at=100\n"
	      "open r /a ino=5 size=1 mtime=50 ctime=101 at=102\n"
	      "open wc /b at=103\n"
	      "rename /b /a ino=6 size=1 mtime=103 at=104\n"
	      "open r /c ino=7 size=1 mtime=101 at=105\n"
	      "unlink /c ino=7 size=1 mtime=101 at=106\n",
	      "");
}

static void a_fifo_that_is_read_before_it_is_told_of_is_no_gap(void **state)
{
	(void)state;
	check("fork root at=100\n"
	      "open r /p ino=5 mtime=101 at=102 pid=4 type=fifo\n"
	      "open wc /p at=102 pid=5 type=fifo\n",
	      "");
}

/* A script writes a file and starts a run that edits it: both within one tick of the
 * file system's clock. */
static void replacing_what_was_made_moments_before_is_no_gap(void **state)
{
	(void)state;
	check("fork root at=100\n"
	      "open r /a ino=5 size=1 mtime=100 at=102 pid=4\n"
	      "open wc /b at=103 pid=4\n"
	      "rename /b /a ino=6 size=1 mtime=103 at=104 pid=5\n"
	      "open r /c ino=8 size=1 mtime=100 at=105 pid=4\n"
	      "unlink /c ino=8 size=1 mtime=100 at=106 pid=4\n"
	      "open wc /c at=107 pid=4\n",
	      "");
}

static void what_another_process_creates_where_it_was_read_is_a_gap(void **state)
{
	(void)state;
	check("fork root at=100\n"
	      "open r /a ino=5 size=1 mtime=101 at=102 pid=4\n"
	      "open wc /a at=102 pid=5\n",
	      "changed \"/a\" x1\n");
}

static void sixty_four_details_are_kept_and_the_rest_counted(void **state)
{
	CLEANUP(fold_freep) struct fold *fold = NULL;
	const struct lineage_gap *gaps;
	char detail[16];
	size_t n;

	(void)state;
	assert_int_equal(fold_new(&fold), 0);
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(detail, sizeof(detail), "/f%d", i);
		fold_add_gap(fold, EVENT_GAP_UNREADABLE, detail);
	}
	gaps = fold_gaps(fold, &n);
	assert_int_equal(n, 65);
	assert_string_equal(gaps[64].detail, "");
	assert_int_equal(gaps[64].count, 1000 - 64);
	fold_add_gap(fold, EVENT_GAP_UNREADABLE, "/f0");
	gaps = fold_gaps(fold, &n);
	assert_int_equal(gaps[0].count, 2);
	fold_add_gap(fold, EVENT_GAP_PATH, NULL);
	gaps = fold_gaps(fold, &n);
	assert_int_equal(n, 66);
	assert_string_equal(gaps[65].detail, "");
}

static void a_long_detail_is_cut_and_still_found_again(void **state)
{
	CLEANUP(fold_freep) struct fold *fold = NULL;
	const struct lineage_gap *gaps;
	char detail[3000];
	size_t n;

	(void)state;
	assert_int_equal(fold_new(&fold), 0);
	memset(detail, 'd', sizeof(detail));
	detail[2999] = '\0';
	fold_add_gap(fold, EVENT_GAP_PATH, detail);
	fold_add_gap(fold, EVENT_GAP_PATH, detail);
	gaps = fold_gaps(fold, &n);
	assert_int_equal(n, 1);
	assert_int_equal(gaps[0].count, 2);
	assert_int_equal(strlen(gaps[0].detail), 1024);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(equal_reasons_are_counted_once),
		T(a_code_nobody_knows_is_a_loss),
		T(content_read_before_the_run_put_it_there_is_a_gap),
		T(replacing_an_input_is_no_gap),
		T(a_fifo_that_is_read_before_it_is_told_of_is_no_gap),
		T(replacing_what_was_made_moments_before_is_no_gap),
		T(what_another_process_creates_where_it_was_read_is_a_gap),
		T(sixty_four_details_are_kept_and_the_rest_counted),
		T(a_long_detail_is_cut_and_still_found_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
