/* test_edges.c - which process read and wrote which file. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "script.h"

#define SHELL                      \
	"fork root pid=10 aux=1\n" \
	"exec /bin/sh \"sh s.sh\" root pid=10 ino=1\n"

static void check(const char *script, const char *expected)
{
	script_check(script_edges, script, expected);
}

static void every_reader_and_writer_has_one_edge_per_file(void **state)
{
	(void)state;
	check(SHELL "fork pid=11 aux=10\n"
		    "fork pid=12 aux=10\n"
		    "open r /in pid=11 ino=5 size=1\n"
		    "open r /in pid=11 ino=5 size=1\n"
		    "open r /in pid=12 ino=5 size=1\n"
		    "open r /in pid=12 ino=5 size=1\n"
		    "open wc /out pid=12\n"
		    "open w /out pid=11 ino=6\n"
		    "open w /out pid=12 ino=6\n",
	      "10 read /bin/sh\n"
	      "11 read /in\n"
	      "12 read /in\n"
	      "12 wrote /out\n"
	      "11 wrote /out\n");
}

static void
a_redirection_belongs_to_the_process_that_becomes_the_command(void **state)
{
	(void)state;
	check(SHELL "fork pid=11 aux=10\n"
		    "open wc /out pid=11\n"
		    "exec /bin/a \"a\" pid=11 ino=2\n"
		    "fork pid=12 aux=10\n"
		    "open r /out pid=12 ino=7\n"
		    "exec /bin/b \"b\" pid=12 ino=3\n",
	      "10 read /bin/sh\n"
	      "11 wrote /out\n"
	      "11 read /bin/a\n"
	      "12 read-own /out\n"
	      "12 read /bin/b\n");
}

static void a_stream_that_was_passed_on_adds_edges_and_nothing_else(void **state)
{
	(void)state;
	check(SHELL "open wc /out pid=10\n"
		    "open r /in pid=10 ino=5\n"
		    "fork pid=11 aux=10\n"
		    "open wP /out pid=11 type=reg\n"
		    "open rP /in pid=11 type=reg\n"
		    "open rP /unknown pid=11 type=reg\n"
		    "open wP /out pid=11 type=reg\n"
		    "open wP /out pid=10 type=reg\n",
	      "10 read /bin/sh\n"
	      "10 wrote /out\n"
	      "10 read /in\n"
	      "11 passed-wrote /out\n"
	      "11 passed-read /in\n");
	script_check(script_facts,
		     "open wc /out pid=10\n"
		     "open wP /out pid=11 type=reg\n"
		     "open rP /out pid=11 type=reg\n",
		     "/out opened-write created own = temporary\n");
}

static void a_read_before_and_after_the_run_writes_are_two_edges(void **state)
{
	(void)state;
	check(SHELL "open r /f pid=10 ino=5 mtime=1\n"
		    "fork pid=11 aux=10\n"
		    "open wt /f pid=11 ino=5 mtime=1\n"
		    "open r /f pid=10 ino=5 size=3 mtime=1000010\n",
	      "10 read /bin/sh\n"
	      "10 read /f\n"
	      "11 wrote /f\n"
	      "10 read-own /f\n");
}

/* The name under which it was written has no row in the record. */
static void who_made_a_content_moves_with_it(void **state)
{
	(void)state;
	check(SHELL "fork pid=11 aux=10\n"
		    "open wc /t1 pid=11\n"
		    "fork pid=12 aux=10\n"
		    "rename /t1 /t2 pid=12 ino=5\n"
		    "fork pid=13 aux=10\n"
		    "rename /t2 /out pid=13 ino=5\n",
	      "10 read /bin/sh\n"
	      "11 wrote /t1\n"
	      "12 wrote /t2\n"
	      "11 made /t2\n"
	      "13 wrote /out\n"
	      "11 made /out\n");
}

static void one_temporary_name_may_have_several_makers(void **state)
{
	(void)state;
	check(SHELL "fork pid=11 aux=10\n"
		    "open wc /t pid=11\n"
		    "rename /t /a pid=10 ino=5\n"
		    "fork pid=12 aux=10\n"
		    "open wc /t pid=12\n"
		    "rename /t /b pid=10 ino=6\n",
	      "10 read /bin/sh\n"
	      "11 wrote /t\n"
	      "10 wrote /a\n"
	      "11 made /a\n"
	      "12 replaced /t\n"
	      "12 wrote /t\n"
	      "10 wrote /b\n"
	      "12 made /b\n");
}

static void a_process_that_moves_its_own_content_needs_no_more(void **state)
{
	CLEANUP(fold_freep) struct fold *fold = NULL;
	uint64_t left_out;

	(void)state;
	assert_int_equal(fold_new(&fold), 0);
	script_play(fold, "fork root pid=10\n"
			  "open wc /t pid=10\n"
			  "rename /t /out pid=10 ino=5\n"
			  "open wc /t pid=10\n"
			  "rename /t /out pid=10 ino=6\n"
			  "link /out /link pid=10 ino=6\n"
			  "unlink /link pid=10 ino=6\n"
			  "open r /out pid=10 ino=6\n");
	assert_int_equal(fold_n_edges(fold, &left_out), 0);
}

static void who_got_the_stream_made_the_content(void **state)
{
	(void)state;
	check(SHELL "open wc /t pid=10\n"
		    "fork pid=11 aux=10\n"
		    "open wP /t pid=11 type=reg\n"
		    "fork pid=12 aux=11\n"
		    "open wP /t pid=12 type=reg\n"
		    "fork pid=13 aux=10\n"
		    "rename /t /out pid=13 ino=5\n"
		    "open wc /t pid=10\n"
		    "fork pid=14 aux=10\n"
		    "open wP /t pid=14 type=reg\n"
		    "rename /t /out2 pid=13 ino=6\n",
	      "10 read /bin/sh\n"
	      "10 wrote /t\n"
	      "11 passed-wrote /t\n"
	      "12 passed-wrote /t\n"
	      "13 wrote /out\n"
	      "11 made /out\n"
	      "10 replaced /t\n"
	      "14 passed-wrote /t\n"
	      "13 wrote /out2\n"
	      "14 made /out2\n");
}

/* What changes nothing that others see is not kept: a status file may be written again a
 * million times. */
static void a_content_that_nobody_used_is_replaced_without_a_trace(void **state)
{
	CLEANUP(fold_freep) struct fold *fold = NULL;
	uint64_t left_out;
	size_t n;

	(void)state;
	assert_int_equal(fold_new(&fold), 0);
	script_play(fold, "fork root pid=10\n"
			  "fork pid=11 aux=10\n"
			  "open wc /s pid=10\n"
			  "open wt /s pid=11 ino=5\n"
			  "open wt /s pid=10 ino=5\n");
	n = fold_n_edges(fold, &left_out);
	for (int i = 0; i < 5; i++)
		script_play(fold, "open wt /s pid=11 ino=5\n"
				  "open wt /s pid=10 ino=5\n"
				  "unlink /s pid=10 ino=5\n"
				  "open wc /s pid=10\n");
	assert_int_equal(fold_n_edges(fold, &left_out), n);
	script_play(fold, "open r /s pid=11 ino=6\n"
			  "open r /s pid=10 ino=6\n"
			  "open wt /s pid=11 ino=6\n");
	assert_int_equal(fold_n_edges(fold, &left_out), n + 2);
}

static void a_directory_takes_the_makers_along(void **state)
{
	(void)state;
	check(SHELL "fork pid=11 aux=10\n"
		    "open wc /d/a pid=11\n"
		    "rename /d /e type=dir pid=10\n"
		    "fork pid=12 aux=10\n"
		    "open r /e/a pid=12 ino=8\n",
	      "10 read /bin/sh\n"
	      "11 wrote /d/a\n"
	      "10 wrote /e/a\n"
	      "11 made /e/a\n"
	      "12 read-own /e/a\n");
}

static void
content_from_before_has_no_maker_and_counts_for_its_name(void **state)
{
	(void)state;
	check(SHELL "fork pid=11 aux=10\n"
		    "rename /old /new pid=11 ino=5\n"
		    "open r /new pid=10 ino=5\n",
	      "10 read /bin/sh\n"
	      "11 wrote /new\n"
	      "10 read /old\n");
}

static void a_link_and_a_removal_keep_the_edges(void **state)
{
	(void)state;
	check(SHELL "fork pid=11 aux=10\n"
		    "open wc /a pid=11\n"
		    "link /a /b pid=10 ino=5\n"
		    "unlink /a pid=10 ino=5\n"
		    "open r /b pid=10 ino=5\n",
	      "10 read /bin/sh\n"
	      "11 wrote /a\n"
	      "10 wrote /b\n"
	      "11 made /b\n"
	      "10 read-own /b\n");
}

static void a_pid_used_again_is_another_process(void **state)
{
	(void)state;
	check(SHELL "fork pid=11 aux=10\n"
		    "open r /in pid=11 ino=5\n"
		    "open wc /out pid=11\n"
		    "exit pid=11\n"
		    "fork pid=11 aux=10\n"
		    "open r /in pid=11 ino=5\n"
		    "open w /out pid=11 ino=6\n"
		    "open r /in pid=11 ino=5\n",
	      "10 read /bin/sh\n"
	      "11 read /in\n"
	      "11 wrote /out\n"
	      "11' read /in\n"
	      "11' wrote /out\n");
}

/* A log of a program may be read after its end was reported, or before its fork. */
static void late_and_early_events_find_their_process(void **state)
{
	(void)state;
	check(SHELL "open r /a pid=11 ino=4\n"
		    "open r /b pid=10 ino=5\n"
		    "open r /b pid=11 ino=5\n"
		    "fork pid=11 aux=10\n"
		    "exit pid=11\n"
		    "open wc /c pid=11\n",
	      "10 read /bin/sh\n"
	      "11 read /a\n"
	      "10 read /b\n"
	      "11 read /b\n"
	      "11 wrote /c\n");
}

static struct stamp stamp(uint64_t ino)
{
	return (struct stamp){ .dev = 1, .ino = ino, .mtime_ns = 1 };
}

static void play_opens(struct fold *fold, int first, int n_files, int n_pids)
{
	struct event head = { .kind = EVENT_OPEN,
			      .flags = EVENT_READ,
			      .ftype = EVENT_FTYPE_REGULAR };
	char space[512];
	struct event *ev = (struct event *)space;
	struct fold_change change;

	for (int i = 0; i < n_files; i++)
		for (int pid = first; pid < first + n_pids; pid++) {
			char path[32];
			int len = snprintf(path, sizeof(path), "/d/%d", i);

			*ev = head;
			ev->pid = pid;
			ev->before = stamp((uint64_t)i + 1);
			event_set_paths(ev, path, (size_t)len, "", 0);
			assert_int_equal(fold_add(fold, ev, &change), 0);
		}
}

static void the_number_of_edges_is_bounded_and_the_rest_counted(void **state)
{
	enum { FILES = 4200, PIDS = 1001, MAX = 4 << 20 };
	CLEANUP(fold_freep) struct fold *fold = NULL;
	uint64_t left_out;
	size_t n;

	(void)state;
	assert_int_equal(fold_new(&fold), 0);
	play_opens(fold, 1, FILES, PIDS);
	n = fold_n_edges(fold, &left_out);
	assert_int_equal(n, MAX);
	assert_int_equal(left_out, FILES * (PIDS - 1) - MAX);
	assert_true(fold_leaves_out_edge(fold));
	assert_true(fold_memory(fold) < 90u << 20);
	assert_true(fold_knows_edge(fold, fold_find(fold, "/d/7"),
				    LINEAGE_EDGE_READ, 500));
	assert_false(fold_knows_edge(fold, fold_find(fold, "/d/7"),
				     LINEAGE_EDGE_WRITTEN, 500));
	assert_false(fold_knows_edge(fold, fold_find(fold, "/d/4199"),
				     LINEAGE_EDGE_READ, 500));
	(void)fold_gaps(fold, &n);
	assert_int_equal(n, 0);
}

static void a_failed_allocation_is_a_gap_and_loses_nothing_else(void **state)
{
	struct stamp s = stamp(1);

	(void)state;
	for (int n = 0; n < 8; n++) {
		CLEANUP(fold_freep) struct fold *fold = NULL;
		size_t n_gaps;
		int r;

		assert_int_equal(fold_new(&fold), 0);
		script_play(fold, "fork root pid=9\n"
				  "open r /f pid=9 ino=1 mtime=1\n");
		r = script_event_failing(fold, EVENT_OPEN, EVENT_READ, "/f", "",
					 &s, n);
		(void)fold_gaps(fold, &n_gaps);
		assert_int_equal(n_gaps, r < 0);
		script_play(fold, "open r /f pid=1 ino=1 mtime=1\n");
		assert_true(fold_knows_edge(fold, fold_find(fold, "/f"),
					    LINEAGE_EDGE_READ, 1));
	}
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(every_reader_and_writer_has_one_edge_per_file),
		T(a_redirection_belongs_to_the_process_that_becomes_the_command),
		T(a_stream_that_was_passed_on_adds_edges_and_nothing_else),
		T(a_read_before_and_after_the_run_writes_are_two_edges),
		T(who_made_a_content_moves_with_it),
		T(one_temporary_name_may_have_several_makers),
		T(a_process_that_moves_its_own_content_needs_no_more),
		T(who_got_the_stream_made_the_content),
		T(a_content_that_nobody_used_is_replaced_without_a_trace),
		T(a_directory_takes_the_makers_along),
		T(content_from_before_has_no_maker_and_counts_for_its_name),
		T(a_link_and_a_removal_keep_the_edges),
		T(a_pid_used_again_is_another_process),
		T(late_and_early_events_find_their_process),
		T(the_number_of_edges_is_bounded_and_the_rest_counted),
		T(a_failed_allocation_is_a_gap_and_loses_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
