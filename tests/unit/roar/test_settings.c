/* test_settings.c - `roar config`, `roar env` and `roar filter`. */
#include "scene.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "project/project.h"

static int setup(void **state)
{
	(void)scene_setup(state);
	assert_int_equal(project_init(".", NULL), 1);
	scene_write(".roar/config.toml",
		    "# mine\n[output]\nquiet = false # why\n\n[other]\nx = 1\n");
	return 0;
}

static void expect_file(const char *expected)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	scene_read(".roar/config.toml", &text);
	assert_string_equal(str_cstr(&text), expected);
	assert_int_equal(scene_mode(".roar/config.toml"), 0600);
}

static void set_and_get_agree(void **state)
{
	(void)state;
	scene_expect("config|set|output.quiet|True", 0,
		     "Set output.quiet = true\n");
	scene_expect("config|get|output.quiet", 0, "true\n");
	scene_expect("config|get|output.verbosity", 0, "normal\n");
	scene_expect("config|set|hash.run|sha256, md5", 0,
		     "Set hash.run = [\"sha256\", \"md5\"]\n");
	scene_expect("config|get|hash.run", 0, "sha256\nmd5\n");
	scene_expect("config|get|hash.run|--json", 0, "[\"sha256\",\"md5\"]\n");
	scene_expect("config|set|redact.names|[\"A,B\"]", 0,
		     "Set redact.names = [\"A,B\"]\n");
	expect_file("# mine\n[output]\nquiet = true # why\n\n[other]\nx = 1\n\n"
		    "[hash]\nrun = [\"sha256\", \"md5\"]\n\n"
		    "[redact]\nnames = [\"A,B\"]\n");
	scene_expect("config|unset|hash.run", 0,
		     "Restored hash.run = [], the default\n");
	scene_expect("config|get|hash.run", 0, "");
}

static void wrong_settings_change_nothing(void **state)
{
	(void)state;
	scene_expect("config|set|output.quite|true", 2,
		     "roar: unknown setting 'output.quite', did you mean "
		     "'output.quiet'? (see 'roar config --help')\n");
	scene_expect("config|get|quiet", 2,
		     "roar: unknown setting 'quiet', did you mean "
		     "'output.quiet'? (see 'roar config --help')\n");
	scene_expect(
		"config|set|output.quiet|7", 2,
		"roar: output.quiet takes true or false, not '7' (see 'roar "
		"config --help')\n");
	scene_expect(
		"config|set|hash.primary|sha256", 2,
		"roar: hash.primary is always blake3 and cannot be 'sha256' "
		"(see 'roar config --help')\n");
	scene_expect(
		"config|set|hash.run|[1", 2,
		"roar: hash.run takes a list like a,b or [\"a\", \"b\"], not "
		"'[1' (see 'roar config --help')\n");
	scene_expect(
		"config|set|hash.run|[\"md5\"]\nx = 1", 2,
		"roar: hash.run takes a list like a,b or [\"a\", \"b\"], not "
		"'[\"md5\"]\\nx = 1' (see 'roar config --help')\n");
	expect_file("# mine\n[output]\nquiet = false # why\n\n[other]\nx = 1\n");
}

static void list_shows_all_and_warns_of_strange_keys(void **state)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	(void)state;
	assert_int_equal(scene_run("config", &out), 0);
	assert_non_null(strstr(out.data,
			       "output.quiet                          false "
			       "       set      print nothing"));
	assert_non_null(strstr(out.data,
			       "hash.run                              []    "
			       "       default  more digests"));
	assert_non_null(
		strstr(out.data,
		       "line 6: 'other.x' is not a setting of roar and has no "
		       "effect\n"));
	str_clear(&out);
	assert_int_equal(scene_run("config|list|--json", &out), 0);
	assert_non_null(strstr(out.data, "    \"key\": \"output.quiet\",\n"
					 "    \"value\": false,\n"
					 "    \"default\": false,\n"));
}

static void variables_are_kept_and_secrets_masked(void **state)
{
	(void)state;
	scene_expect("env", 0, "No variables are set.\n");
	scene_expect("env|set|FOO|a b\n", 0, "Set FOO=a b\\n\n");
	scene_expect("env|set|API_KEY|abc", 0, "Set API_KEY=********\n");
	scene_expect("env|list", 0, "FOO=a b\\n\nAPI_KEY=********\n");
	scene_expect("env|list|--show", 0, "FOO=a b\\n\nAPI_KEY=abc\n");
	scene_expect(
		"env|list|--json", 0,
		"{\n  \"FOO\": \"a b\\n\",\n  \"API_KEY\": \"********\"\n}\n");
	scene_expect("env|get|API_KEY", 0, "abc\n");
	scene_expect("env|set|--|FOO|-x", 0, "Set FOO=-x\n");
	scene_expect("env|unset|API_KEY", 0, "Unset API_KEY\n");
	expect_file(
		"# mine\n[output]\nquiet = false # why\n\n[other]\nx = 1\n\n"
		"[env]\nFOO = \"-x\"\n");
}

static void wrong_variables_get_one_sentence(void **state)
{
	(void)state;
	scene_expect("env|get|NOPE", 1,
		     "roar: variable 'NOPE' is not set: 'roar env list' shows "
		     "all variables\n");
	scene_expect("env|unset|NOPE", 1,
		     "roar: variable 'NOPE' is not set: 'roar env list' shows "
		     "all variables\n");
	scene_expect(
		"env|set|1A|x", 2,
		"roar: '1A' is not a valid name of a variable: use letters, "
		"digits and '_', and no digit first (see 'roar env "
		"--help')\n");
	scene_expect(
		"env|set|A=B c", 2,
		"roar: 'roar env set' takes name and value as two arguments: "
		"write A 'B c' (see 'roar env --help')\n");
	scene_expect(
		"env|set|A=B|x", 2,
		"roar: 'A=B' is not a valid name of a variable: use "
		"letters, digits and '_', and no digit first (see 'roar env "
		"--help')\n");
	scene_expect("env|set|A|\xff", 1,
		     "roar: the value of A is not valid UTF-8 and cannot be "
		     "stored in config.toml\n");
}

static void patterns_come_and_go(void **state)
{
	(void)state;
	scene_expect("filter|add|*.log|/mnt", 0, "Added 2 patterns\n");
	scene_expect("filter|add|/mnt|x", 0,
		     "Added 1 pattern\nPattern '/mnt' is already set\n");
	scene_expect("filter|add|x", 0, "Pattern 'x' is already set\n");
	scene_expect("config|get|filters.ignore_paths", 0, "*.log\n/mnt\nx\n");
	scene_expect("filter|remove|x|y", 1,
		     "roar: pattern 'y' is not set, nothing was removed: 'roar "
		     "filter list' shows all patterns\n");
	scene_expect("filter|remove|*.log|x", 0, "Removed 2 patterns\n");
	expect_file(
		"# mine\n[output]\nquiet = false # why\n\n[other]\nx = 1\n\n"
		"[filters]\nignore_paths = [\"/mnt\"]\n");
	scene_expect("filter|add|../x", 2,
		     "roar: pattern '../x' would never match: use an absolute "
		     "path, one that starts with '~/', or a component of a path "
		     "(see 'roar filter --help')\n");
}

static void filters_are_listed_with_their_switch(void **state)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	(void)state;
	scene_expect("config|set|filters.ignore_tmp_files|off", 0,
		     "Set filters.ignore_tmp_files = false\n");
	assert_int_equal(scene_run("filter", &out), 0);
	assert_non_null(strstr(out.data, " on   always on\n"));
	assert_non_null(strstr(out.data, " off  filters.ignore_tmp_files\n"));
	assert_non_null(strstr(out.data, "No patterns are set.\n"));
}

static void a_damaged_file_is_reported_and_kept(void **state)
{
	(void)state;
	scene_write(".roar/config.toml", "[env\n");
	for (int i = 0; i < 3; i++) {
		static const char *const words[] = { "config", "env|set|A|b",
						     "filter|add|x" };
		CLEANUP(str_release) struct str out = STR_INIT;

		assert_int_equal(scene_run(words[i], &out), 1);
		assert_non_null(strstr(out.data, "config.toml' line 1: a table "
						 "header needs ']'\n"));
	}
	expect_file("[env\n");
}

static void editors_at_the_same_time_all_take_effect(void **state)
{
	enum { N = 10 };
	CLEANUP(str_release) struct str out = STR_INIT;

	(void)state;
	(void)fflush(stdout);
	for (int i = 0; i < N; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			char name[16];
			char *argv[] = { "env", "set", name, "x", NULL };
			CLEANUP(args_release) struct args args = { 0 };

			(void)snprintf(name, sizeof(name), "V%d", i);
			(void)dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
			if (args_parse(&cmd_env, 4, argv, &args, NULL) < 0)
				_exit(2);
			_exit(cmd_env.run(&args));
		}
		assert_true(pid > 0);
	}
	for (int i = 0; i < N; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(scene_run("env", &out), 0);
	assert_int_equal(out.len, N * strlen("V0=x\n"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, scene_teardown)
	const struct CMUnitTest tests[] = {
		TEST(set_and_get_agree),
		TEST(wrong_settings_change_nothing),
		TEST(list_shows_all_and_warns_of_strange_keys),
		TEST(variables_are_kept_and_secrets_masked),
		TEST(wrong_variables_get_one_sentence),
		TEST(patterns_come_and_go),
		TEST(filters_are_listed_with_their_switch),
		TEST(a_damaged_file_is_reported_and_kept),
		TEST(editors_at_the_same_time_all_take_effect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
