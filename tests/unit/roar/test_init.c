/* test_init.c - `roar init`. */
#include "scene.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"

/* The messages name the folder, which is another one in each test. */
static void expect(const char *words, int status, const char *format)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	CLEANUP(str_release) struct str expected = STR_INIT;
	int r = scene_run(words, &out);

	for (; *format; format++) {
		if (*format == '@')
			str_adds(&expected, scene_dir());
		else
			str_addc(&expected, *format);
	}
	assert_string_equal(str_cstr(&out), str_cstr(&expected));
	assert_int_equal(r, status);
}

static void expect_ignored(const char *expected)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	scene_read(".gitignore", &text);
	assert_string_equal(str_cstr(&text), expected);
}

static void make_repository(void)
{
	assert_int_equal(mkdir(".git", 0777), 0);
	/* Nobody to ask. */
	assert_int_equal(dup2(open("/dev/null", O_RDONLY), 0), 0);
}

static void it_makes_a_project_once(void **state)
{
	(void)state;
	expect("init", 0,
	       "Initialised a roar project in @/.roar\n"
	       "Next: roar run COMMAND, then roar dag\n");
	assert_int_equal(scene_mode(".roar"), 0700);
	assert_int_equal(scene_mode(".roar/roar.db"), 0600);
	expect("init", 0, "A roar project is already initialised in @/.roar\n");
}

static void it_makes_one_elsewhere(void **state)
{
	(void)state;
	assert_int_equal(mkdir("sub", 0777), 0);
	expect("init|--path|sub", 0,
	       "Initialised a roar project in @/sub/.roar\n"
	       "Next: roar run COMMAND, then roar dag\n");
	expect("init|--path|none", 1,
	       "roar: cannot create a project in 'none': No such file or "
	       "directory\n");
}

static void git_is_told_when_wanted(void **state)
{
	(void)state;
	make_repository();
	scene_write(".gitignore", "*.o");
	expect("init|-y", 0,
	       "Initialised a roar project in @/.roar\n"
	       "Added .roar/ to @/.gitignore\n"
	       "Next: roar run COMMAND, then roar dag\n");
	expect_ignored("*.o\n.roar/\n");
	expect("init|-y", 0,
	       "A roar project is already initialised in @/.roar\n");
	expect_ignored("*.o\n.roar/\n");
}

static void git_is_left_alone_when_not(void **state)
{
	(void)state;
	make_repository();
	expect("init|-n", 0,
	       "Initialised a roar project in @/.roar\n"
	       "Next: roar run COMMAND, then roar dag\n");
	assert_int_equal(access(".gitignore", F_OK), -1);
	expect("init|-n|-y", 2,
	       "roar: --yes and --no exclude each other (see "
	       "'roar init --help')\n");
}

static void the_folder_ignores_itself(void **state)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	(void)state;
	make_repository();
	expect("init", 0,
	       "Initialised a roar project in @/.roar\n"
	       "Next: roar run COMMAND, then roar dag\n");
	assert_int_equal(access(".gitignore", F_OK), -1);
	assert_int_equal(unlink(".roar/.gitignore"), 0);
	expect("init", 0, "A roar project is already initialised in @/.roar\n");
	scene_read(".roar/.gitignore", &text);
	assert_string_equal(str_cstr(&text), "*\n");
}

static void a_line_above_is_enough(void **state)
{
	(void)state;
	make_repository();
	scene_write(".gitignore", "x\r\n.roar/\r\n");
	assert_int_equal(mkdir("sub", 0777), 0);
	expect("init|-y|--path=sub", 0,
	       "Initialised a roar project in @/sub/.roar\n"
	       "Next: roar run COMMAND, then roar dag\n");
	expect_ignored("x\r\n.roar/\r\n");
}

static void many_at_once_make_one_project(void **state)
{
	enum { N = 8 };

	(void)state;
	make_repository();
	(void)fflush(stdout);
	for (int i = 0; i < N; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			char *argv[] = { "init", "-y", NULL };
			CLEANUP(args_release) struct args args = { 0 };

			(void)dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
			if (args_parse(&cmd_init, 2, argv, &args, NULL) < 0)
				_exit(2);
			_exit(cmd_init.run(&args));
		}
		assert_true(pid > 0);
	}
	for (int i = 0; i < N; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	expect_ignored(".roar/\n");
	expect("init", 0, "A roar project is already initialised in @/.roar\n");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
		TEST(it_makes_a_project_once),
		TEST(it_makes_one_elsewhere),
		TEST(git_is_told_when_wanted),
		TEST(git_is_left_alone_when_not),
		TEST(the_folder_ignores_itself),
		TEST(a_line_above_is_enough),
		TEST(many_at_once_make_one_project),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
