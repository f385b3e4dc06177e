/* test_proc.c - what /proc says of a process. */
#include "base/proc.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "test.h"

static void a_file_of_a_process_is_a_string(void **state)
{
	char text[4096];
	char begin[32];
	ssize_t n = proc_read(getpid(), "stat", text, sizeof(text));

	(void)state;
	(void)snprintf(begin, sizeof(begin), "%d (test_proc) ", (int)getpid());
	assert_memory_equal(text, begin, strlen(begin));
	assert_int_equal(n, strlen(text));
}

static void what_does_not_fit_is_cut(void **state)
{
	char text[16];

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_int_equal(proc_read(getpid(), "status", text, 6), 5);
	assert_string_equal(text, "Name:");
	assert_int_equal(text[6], 'x');
}

static void who_has_ended_says_nothing(void **state)
{
	char text[64];
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(proc_read(pid, "cmdline", text, sizeof(text)), -ESRCH);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(proc_read(pid, "cmdline", text, sizeof(text)),
			 -ENOENT);
}

/* Whatever it calls itself; and before a child of its own. */
static void a_start_is_that_of_one_process(void **state)
{
	uint64_t mine = proc_started(getpid());
	pid_t pid;

	(void)state;
	assert_true(mine > 0);
	assert_int_equal(prctl(PR_SET_NAME, ") S 1 (x) 2"), 0);
	assert_int_equal(proc_started(getpid()), mine);
	assert_int_equal(prctl(PR_SET_NAME, "test_proc"), 0);
	(void)usleep(20000); /* more than a tick */
	pid = fork();
	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	assert_true(proc_started(pid) > mine);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(proc_started(pid), 0);
}

static void a_zombie_tells_how_it_ended(void **state)
{
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	assert_int_equal(proc_zombie_status(pid), -1);
	(void)kill(pid, SIGTERM);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(proc_zombie_status(pid), SIGTERM);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(proc_zombie_status(pid), -1);
	pid = fork();
	if (pid == 0)
		_exit(7);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(proc_zombie_status(pid), 7 << 8);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_of_a_process_is_a_string),
		cmocka_unit_test(what_does_not_fit_is_cut),
		cmocka_unit_test(who_has_ended_says_nothing),
		cmocka_unit_test(a_start_is_that_of_one_process),
		cmocka_unit_test(a_zombie_tells_how_it_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
