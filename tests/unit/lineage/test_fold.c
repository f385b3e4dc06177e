/* test_fold.c - order, news and size of what the fold keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "script.h"

static void facts(const char *script, const char *expected)
{
	script_check(script_facts, script, expected);
}

static void news(const char *script, const char *expected)
{
	script_check(script_news, script, expected);
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
	script_check(script_gaps, "open r \"a b\" ino=1\n",
		     "path \"a b\" x1\n");
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

static void what_is_implied_is_an_input_read_with_the_other(void **state)
{
	CLEANUP(fold_freep) struct fold *fold = NULL;
	struct stamp stamp = { .ino = 2, .size = 9, .mtime_ns = 1 };
	const struct lineage_file *via;
	const struct lineage_file *f;

	(void)state;
	assert_int_equal(fold_new(&fold), 0);
	script_play(fold, "open r /c/m.pyc ino=1 size=3 mtime=5 pid=7\n");
	via = fold_find(fold, "/c/m.pyc");
	assert_int_equal(fold_add_implied(fold, "/m.py", &stamp, via), 0);
	f = fold_find(fold, "/m.py");
	assert_int_equal(f->seen, LINEAGE_READ_PRIOR | LINEAGE_IMPLIED);
	assert_int_equal(lineage_roles(f, &stamp), LINEAGE_INPUT);
	assert_ptr_equal(f->origin, via);
	assert_int_equal(f->reader, 7);
	assert_int_equal(f->read_order, via->read_order);
	assert_false(f->own);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
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
		T(what_is_implied_is_an_input_read_with_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
