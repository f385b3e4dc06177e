/* test_child.c - git processes and their environment. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "fixture.h"
#include "git/git_child.h"
#include "git/git_env.h"

#define CHILD_TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

struct bench {
	struct git_env env;
	struct git_runner runner;
};

static void bench_init(struct bench *b, const struct fixture *f)
{
	assert_int_equal(git_env_init(&b->env, environ), 0);
	b->runner = (struct git_runner){
		.root = f->work,
		.env = &b->env,
		.cancel_fd = -1,
	};
}

static void bench_release(struct bench *b)
{
	git_env_release(&b->env);
}

static void variables_that_mislead_git_are_dropped(void **state)
{
	char *vars[] = { "HOME=/h",
			 "GIT_DIR=/x",
			 "GIT_WORK_TREE=/x",
			 "GIT_INDEX_FILE=/x",
			 "GIT_TRACE=1",
			 "LC_ALL=de_DE",
			 "GIT_CONFIG_COUNT=1",
			 "GIT_CONFIG_PARAMETERS='a'",
			 "EMPTY=",
			 NULL };
	CLEANUP(git_env_release) struct git_env env;

	(void)state;
	assert_int_equal(git_env_init(&env, vars), 0);
	assert_string_equal(git_env_get(&env, "HOME"), "/h");
	assert_string_equal(git_env_get(&env, "GIT_CONFIG_COUNT"), "1");
	assert_string_equal(git_env_get(&env, "LC_ALL"), "C");
	assert_string_equal(git_env_get(&env, "GIT_OPTIONAL_LOCKS"), "0");
	assert_null(git_env_get(&env, "GIT_DIR"));
	assert_null(git_env_get(&env, "GIT_INDEX_FILE"));
	assert_null(git_env_get(&env, "GIT_WORK_TREE"));
	assert_null(git_env_get(&env, "GIT_CONFIG_PARAMETERS"));
	assert_null(git_env_get(&env, "EMPTY"));
	assert_null(env.vars[env.n_vars]);
}

static void sources_of_configuration_change_the_hash(void **state)
{
	char *a[] = { "HOME=/a", "TERM=x", NULL };
	char *b[] = { "HOME=/a", "TERM=y", NULL };
	char *c[] = { "HOME=/c", "TERM=x", NULL };
	struct git_env ea, eb, ec;

	(void)state;
	assert_int_equal(git_env_init(&ea, a), 0);
	assert_int_equal(git_env_init(&eb, b), 0);
	assert_int_equal(git_env_init(&ec, c), 0);
	assert_true(ea.hash == eb.hash);
	assert_true(ea.hash != ec.hash);
	git_env_release(&ea);
	git_env_release(&eb);
	git_env_release(&ec);
}

static void output_and_errors_are_delivered(void **state)
{
	CLEANUP(bench_release) struct bench b;
	CLEANUP(str_release) struct str out = STR_INIT;
	CLEANUP(str_release) struct str errors = STR_INIT;
	struct git_command command = {
		.args = { "rev-parse", "--show-toplevel", NULL },
		.take = git_take_text,
		.ctx = &out,
	};
	const struct fixture *f = *state;

	bench_init(&b, f);
	assert_int_equal(git_run(&b.runner, &command, &errors), 0);
	assert_int_equal(strncmp(out.data, f->work, strlen(f->work)), 0);
	assert_int_equal(errors.len, 0);
	command.args[1] = "--verify";
	command.args[2] = "nonsense";
	assert_int_equal(git_run(&b.runner, &command, &errors), 128);
	assert_int_equal(strncmp(errors.data, "fatal: ", 7), 0);
}

/* More than any pipe holds, in both directions at once. */
static void large_input_and_output_do_not_jam(void **state)
{
	enum { N_LINES = 4000, LINE_BYTES = 250 };
	CLEANUP(bench_release) struct bench b;
	CLEANUP(str_release) struct str input = STR_INIT;
	CLEANUP(str_release) struct str errors = STR_INIT;
	struct git_command command = {
		.args = { "cat-file", "--batch-check", NULL },
	};

	bench_init(&b, *state);
	for (int i = 0; i < N_LINES; i++) {
		str_pad(&input, 'x', LINE_BYTES); /* "xxx... missing" */
		str_addc(&input, '\n');
	}
	command.input = input.data;
	command.input_len = input.len;
	assert_int_equal(git_run(&b.runner, &command, &errors), 0);
}

static void git_that_ignores_its_input_is_no_problem(void **state)
{
	CLEANUP(bench_release) struct bench b;
	CLEANUP(str_release) struct str input = STR_INIT;
	struct git_command command = { .args = { "version", NULL } };

	bench_init(&b, *state);
	str_pad(&input, 'x', 1 << 20);
	command.input = input.data;
	command.input_len = input.len;
	assert_int_equal(git_run(&b.runner, &command, NULL), 0);
}

static int refuse(void *ctx, const char *data, size_t len)
{
	(void)ctx;
	(void)data;
	(void)len;
	return -EBADMSG;
}

static void unwanted_output_ends_git(void **state)
{
	CLEANUP(bench_release) struct bench b;
	struct git_command command = { .args = { "version", NULL },
				       .take = refuse };

	bench_init(&b, *state);
	assert_int_equal(git_run(&b.runner, &command, NULL), -EBADMSG);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* none left */
}

static void deadline_ends_git(void **state)
{
	CLEANUP(bench_release) struct bench b;
	struct git_command command = { .args = { "-c", "alias.s=!sleep 60", "s",
						 NULL } };

	bench_init(&b, *state);
	b.runner.deadline_ns = clock_mono_ns() + 50 * 1000000;
	assert_int_equal(git_run(&b.runner, &command, NULL), -ETIMEDOUT);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void missing_program_is_told_apart(void **state)
{
	char *vars[] = { "PATH=/nonexistent:", NULL };
	struct bench b = { 0 };
	struct git_command command = { .args = { "version", NULL } };

	(void)state;
	assert_int_equal(git_env_init(&b.env, vars), 0);
	b.runner = (struct git_runner){ .root = "/",
					.env = &b.env,
					.cancel_fd = -1 };
	assert_int_equal(git_run(&b.runner, &command, NULL), -ENOPKG);
	bench_release(&b);
}

/* A program may be started without standard streams. */
static void closed_standard_streams_do_no_harm(void **state)
{
	const struct fixture *f = *state;
	int status;
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct str out = STR_INIT;
		struct git_command command = {
			.args = { "hash-object", "--stdin", NULL },
			.input = "",
			.take = git_take_text,
			.ctx = &out,
		};
		struct bench b;

		(void)close(0);
		(void)close(1);
		(void)close(2);
		if (git_env_init(&b.env, environ) < 0)
			_exit(1);
		b.runner = (struct git_runner){ .root = f->work,
						.env = &b.env,
						.cancel_fd = -1 };
		if (git_run(&b.runner, &command, NULL) != 0 ||
		    strncmp(out.data, "e69de29bb2d1", 12) != 0)
			_exit(2);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variables_that_mislead_git_are_dropped),
		cmocka_unit_test(sources_of_configuration_change_the_hash),
		CHILD_TEST(output_and_errors_are_delivered),
		CHILD_TEST(large_input_and_output_do_not_jam),
		CHILD_TEST(git_that_ignores_its_input_is_no_problem),
		CHILD_TEST(unwanted_output_ends_git),
		CHILD_TEST(deadline_ends_git),
		CHILD_TEST(missing_program_is_told_apart),
		CHILD_TEST(closed_standard_streams_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
