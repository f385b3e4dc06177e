/* test_processes.c - the process table of the fold. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "script.h"

static void check(const char *script, const char *expected)
{
	script_check(script_processes, script, expected);
}

static void a_tree_is_kept_with_commands_times_and_status(void **state)
{
	(void)state;
	check("fork root pid=10 aux=1 at=100\n"
	      "exec /bin/sh \"sh -c 'a; b'\" root pid=10 ino=1 at=101\n"
	      "fork pid=11 aux=10 at=102\n"
	      "exec /bin/a \"a 1\" pid=11 ino=2 at=103\n"
	      "exec /lib/ld.so pid=11 ino=3 at=103\n"
	      "exit pid=11 aux=256 at=104\n"
	      "exit pid=10 aux=0 at=105\n",
	      "10 < 0 \"sh -c 'a; b'\" 100-105 status 0\n"
	      "11 < 10 \"a 1\" 102-104 status 256\n");
}

static void a_child_that_executes_nothing_is_what_its_parent_was(void **state)
{
	(void)state;
	check("exec /bin/py \"python train.py\" root pid=10 ino=1 at=100\n"
	      "fork pid=11 aux=10 at=101\n",
	      "10 < 0 \"python train.py\" 100-0 status 0\n"
	      "11 < 10 \"python train.py\" 101-0 status 0\n");
}

static void a_pid_used_again_is_a_new_process(void **state)
{
	(void)state;
	check("fork pid=5 aux=1 at=100\n"
	      "exec /bin/a \"a\" pid=5 ino=1 at=101\n"
	      "exit pid=5 aux=9 at=102\n"
	      "fork pid=5 aux=2 at=103\n"
	      "exec /bin/b \"b\" pid=5 ino=1 at=104\n"
	      "exit pid=5 aux=0 at=105\n",
	      "5 < 1 \"a\" 100-102 status 9\n"
	      "5 < 2 \"b\" 103-105 status 0\n");
}

static void an_exec_after_the_end_without_a_fork_is_a_new_process(void **state)
{
	(void)state;
	check("exec /bin/a \"a\" pid=5 ino=1 at=101\n"
	      "exit pid=5 aux=9 at=102\n"
	      "exec /bin/b \"b\" pid=5 ino=1 at=104\n",
	      "5 < 0 \"a\" 101-102 status 9\n"
	      "5 < 0 \"b\" 104-0 status 0\n");
}

static void events_may_come_before_the_fork_that_explains_them(void **state)
{
	(void)state;
	check("exec /bin/a \"a\" pid=5 ino=1 at=101\n"
	      "fork pid=5 aux=4 at=102\n",
	      "5 < 4 \"a\" 101-0 status 0\n");
}

static const struct lineage_process *last(const struct fold *fold)
{
	size_t n;
	const struct lineage_process *p = fold_processes(fold, &n);

	assert_true(n > 0);
	return &p[n - 1];
}

static void play_exec(struct fold *fold, int32_t pid, const char *command)
{
	size_t len = strlen(command);
	CLEANUP(freep) struct event *ev = calloc(1, event_size(0, len));
	struct fold_change change;

	assert_non_null(ev);
	ev->kind = EVENT_EXEC;
	ev->pid = pid;
	ev->time_ns = 1;
	event_set_paths(ev, "", 0, command, len);
	assert_int_equal(fold_add(fold, ev, &change), 0);
}

static void long_command_lines_are_cut_between_characters(void **state)
{
	CLEANUP(fold_freep) struct fold *fold = NULL;
	char command[4096];

	(void)state;
	assert_int_equal(fold_new(&fold), 0);
	memset(command, 'a', sizeof(command));
	memcpy(command + 1023, "\xc3\xa9", 2);
	command[4095] = '\0';
	play_exec(fold, 1, command);
	assert_int_equal(strlen(last(fold)->command), 1023);
}

static void a_hundred_thousand_processes_are_fine(void **state)
{
	CLEANUP(fold_freep) struct fold *fold = NULL;
	char command[1024];
	size_t n;

	(void)state;
	assert_int_equal(fold_new(&fold), 0);
	memset(command, 'x', sizeof(command));
	command[7] = ' ';
	command[1023] = '\0';
	for (int i = 0; i < 100000; i++) {
		command[0] = (char)('a' + i % 26);
		play_exec(fold, i + 1, command);
	}
	(void)fold_processes(fold, &n);
	assert_int_equal(n, 100000);
	/* The text of all is used up: only the first word is kept. */
	assert_int_equal(strlen(last(fold)->command), 7);
	(void)fold_gaps(fold, &n);
	assert_int_equal(n, 0);
	assert_true(fold_memory(fold) < 64u << 20);
}

static void more_than_the_table_holds_is_told_as_a_gap(void **state)
{
	CLEANUP(fold_freep) struct fold *fold = NULL;
	const struct lineage_gap *gaps;
	size_t n;

	(void)state;
	assert_int_equal(fold_new(&fold), 0);
	for (int i = 0; i < 200010; i++)
		play_exec(fold, i + 1, "x");
	(void)fold_processes(fold, &n);
	assert_int_equal(n, 200000);
	gaps = fold_gaps(fold, &n);
	assert_int_equal(n, 1);
	assert_int_equal(gaps[0].code, EVENT_GAP_MEMORY);
	assert_int_equal(gaps[0].count, 10);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_tree_is_kept_with_commands_times_and_status),
		T(a_child_that_executes_nothing_is_what_its_parent_was),
		T(a_pid_used_again_is_a_new_process),
		T(an_exec_after_the_end_without_a_fork_is_a_new_process),
		T(events_may_come_before_the_fork_that_explains_them),
		T(long_command_lines_are_cut_between_characters),
		T(a_hundred_thousand_processes_are_fine),
		T(more_than_the_table_holds_is_told_as_a_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
