/* test_proc.c - what /proc says of a process. */
#include "base/proc.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/cleanup.h"
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

static void a_path_names_a_file_of_the_process(void **state)
{
	char own[32];

	(void)state;
	assert_string_equal(proc_path(7, "task/%d/children", 8).text,
			    "/proc/7/task/8/children");
	assert_string_equal(proc_fd_path(3).text, "/proc/thread-self/fd/3");
	(void)snprintf(own, sizeof(own), "/proc/%d/exe", (int)getpid());
	assert_string_equal(proc_path(getpid(), "exe").text, own);
}

static void a_link_is_read_as_a_string(void **state)
{
	char text[4096], cut[5];
	ssize_t n = proc_readlink(getpid(), "exe", text, sizeof(text));

	(void)state;
	assert_int_equal(n, strlen(text));
	assert_string_equal(text + n - strlen("/test_proc"), "/test_proc");
	assert_int_equal(proc_readlink(getpid(), "exe", cut, sizeof(cut)), 4);
	assert_memory_equal(cut, text, 4);
	assert_int_equal(proc_readlink(getpid(), "none", text, sizeof(text)),
			 -ENOENT);
	assert_string_equal(text, "");
}

static void a_child_knows_its_parent(void **state)
{
	pid_t child = fork(), pid = 0, parent = 0;
	int status;

	(void)state;
	if (child == 0) {
		(void)prctl(PR_SET_NAME, "x\nPPid:\t7");
		_exit(proc_family(getpid(), &pid, &parent) == 0 &&
				      pid == getpid() && parent == getppid() ?
			      0 :
			      1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(proc_family(child, &pid, &parent), -ESRCH);
}

static void only_numbers_of_a_directory_are_next(void **state)
{
	CLEANUP(closedirp) DIR *dir = opendir(proc_path(getpid(), "task").text);

	(void)state;
	assert_int_equal(proc_next(dir), getpid());
	assert_int_equal(proc_next(dir), -1);
	assert_int_equal(proc_next(NULL), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_of_a_process_is_a_string),
		cmocka_unit_test(what_does_not_fit_is_cut),
		cmocka_unit_test(who_has_ended_says_nothing),
		cmocka_unit_test(a_start_is_that_of_one_process),
		cmocka_unit_test(a_zombie_tells_how_it_ended),
		cmocka_unit_test(a_path_names_a_file_of_the_process),
		cmocka_unit_test(a_link_is_read_as_a_string),
		cmocka_unit_test(a_child_knows_its_parent),
		cmocka_unit_test(only_numbers_of_a_directory_are_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
