/* test_run.c - roar/run.h as a program outside uses it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <roar/run.h>

static char dir[] = "/tmp/test-api-run.XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	return !mkdtemp(dir) || chdir(dir) < 0 ||
	       system("mkdir -p .roar/runs") != 0;
}

static int remove_dir(void **state)
{
	char command[64];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return chdir("/") < 0 || system(command) != 0;
}

/* Writes two notes, one of them twice; 0 or the line of what went wrong. */
static int work(void)
{
	uint32_t number = 0;
	char uid[9];

	if (roar_run_uid(uid) < 0 || strcmp(uid, "0123abcd") != 0)
		return __LINE__;
	if (roar_run_note("metrics", &number, "first", 5) < 0 || number != 1 ||
	    roar_run_note("metrics", &number, "second", 6) < 0)
		return __LINE__;
	if (roar_run_note("metrics", NULL, "other", 5) < 0)
		return __LINE__;
	return roar_run_note("no kind", NULL, "", 0) == -EINVAL ? 0 : __LINE__;
}

/* Does work() in a child of a process that is called roar and has a journal. */
static int work_in_run(pid_t *ret_pid)
{
	FILE *out = fopen("pid", "w");
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (prctl(PR_SET_NAME, "roar") < 0 ||
		    open(".roar/runs/0123abcd.journal", O_CREAT | O_RDWR,
			 0644) < 0)
			_exit(__LINE__);
		pid = fork();
		if (!pid) {
			(void)prctl(PR_SET_NAME, "work");
			_exit(work());
		}
		(void)waitpid(pid, &status, 0);
		(void)fprintf(out, "%d\n", (int)pid);
		(void)fflush(out);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	(void)fclose(out);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	out = fopen("pid", "r");
	assert_int_equal(fscanf(out, "%d", ret_pid), 1);
	(void)fclose(out);
	return status;
}

static void expect_file(pid_t pid, const char *ending, const char *text)
{
	char path[64];
	char found[64] = "";
	FILE *f;

	(void)snprintf(path, sizeof(path), ".roar/runs/0123abcd.metrics-%d%s",
		       (int)pid, ending);
	f = fopen(path, "r");
	assert_non_null(f);
	(void)fread(found, 1, sizeof(found) - 1, f);
	(void)fclose(f);
	assert_string_equal(found, text);
}

static void notes_lie_beside_the_journal(void **state)
{
	pid_t pid;

	(void)state;
	assert_int_equal(work_in_run(&pid), 0);
	expect_file(pid, "", "roar-metrics 1\nsecond");
	expect_file(pid, ".1", "roar-metrics 1\nother");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notes_lie_beside_the_journal),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
