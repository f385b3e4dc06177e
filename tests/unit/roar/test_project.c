/* test_project.c - where a command works. */
#include "scene.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "project/project.h"

static void the_nearest_project_upwards_is_found(void **state)
{
	CLEANUP(project_release) struct project p = { .dirfd = -1 };
	CLEANUP(str_release) struct str path = STR_INIT;

	(void)state;
	assert_int_equal(project_init(".", NULL), 1);
	assert_int_equal(mkdir("a", 0777), 0);
	assert_int_equal(mkdir("a/b", 0777), 0);
	assert_int_equal(chdir("a/b"), 0);
	assert_int_equal(project_open(0, &p, NULL, NULL), 0);
	assert_string_equal(p.root, scene_dir());
	str_addf(&path, "%s/.roar", scene_dir());
	assert_string_equal(p.dir, str_cstr(&path));
	assert_true(p.dirfd >= 0);
	assert_string_equal(p.cwd + strlen(p.root), "/a/b");
	assert_string_equal(p.config.tracer, "auto");
}

static void without_one_the_remedy_is_named(void **state)
{
	CLEANUP(project_release) struct project p = { .dirfd = -1 };
	struct roar_error err = { 0 };

	(void)state;
	assert_int_equal(project_open(0, &p, NULL, &err), -ENOENT);
	assert_string_equal(err.text,
			    "no roar project here or above: run 'roar "
			    "init'");
}

static void one_can_be_made_on_the_way(void **state)
{
	CLEANUP(project_release) struct project p = { .dirfd = -1 };
	CLEANUP(project_release) struct project again = { .dirfd = -1 };
	bool created = false;

	(void)state;
	assert_int_equal(project_open(PROJECT_CREATE, &p, &created, NULL), 0);
	assert_true(created);
	assert_int_equal(project_open(PROJECT_CREATE, &again, &created, NULL),
			 0);
	assert_false(created);
}

static void it_is_for_its_owner_whatever_the_umask(void **state)
{
	mode_t mask = umask(0);

	(void)state;
	assert_int_equal(project_init(".", NULL), 1);
	assert_int_equal(scene_mode(".roar"), 0700);
	assert_int_equal(scene_mode(".roar/runs"), 0700);
	assert_int_equal(scene_mode(".roar/config.toml"), 0600);
	umask(mask);
}

static void making_it_again_changes_nothing(void **state)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	(void)state;
	assert_int_equal(project_init(".", NULL), 1);
	scene_write(".roar/config.toml", "# mine\n");
	assert_int_equal(rmdir(".roar/runs"), 0);
	assert_int_equal(project_init(".", NULL), 0);
	scene_read(".roar/config.toml", &text);
	assert_string_equal(str_cstr(&text), "# mine\n");
	assert_int_equal(scene_mode(".roar/runs"), 0700);
}

static void what_stands_in_the_way_is_named(void **state)
{
	CLEANUP(str_release) struct str expected = STR_INIT;
	struct roar_error err = { 0 };

	(void)state;
	scene_write(".roar", "");
	assert_true(project_init(scene_dir(), &err) < 0);
	str_addf(&expected, "'%s/.roar' is not a directory: move it away",
		 scene_dir());
	assert_string_equal(err.text, str_cstr(&expected));
}

static void a_broken_configuration_costs_no_project(void **state)
{
	CLEANUP(project_release) struct project p = { .dirfd = -1 };

	(void)state;
	assert_int_equal(project_init(".", NULL), 1);
	scene_write(".roar/config.toml", "[output\n");
	assert_int_equal(project_open(0, &p, NULL, NULL), 0);
	assert_int_equal(p.config.n_mistakes, 1);
	assert_non_null(strstr(p.config.mistakes[0], "config.toml' line 1: "));
}

static void a_lost_folder_of_journals_is_made_again(void **state)
{
	CLEANUP(project_release) struct project p = { .dirfd = -1 };

	(void)state;
	assert_int_equal(project_init(".", NULL), 1);
	assert_int_equal(rmdir(".roar/runs"), 0);
	assert_int_equal(project_open(0, &p, NULL, NULL), 0);
	assert_int_equal(scene_mode(".roar/runs"), 0700);
}

static void what_a_stranger_put_there_is_passed_over(void **state)
{
	CLEANUP(project_release) struct project p = { .dirfd = -1 };
	struct roar_error err = { 0 };

	(void)state;
	if (geteuid() != 0)
		skip(); /* only root can give a folder away */
	assert_int_equal(project_init(".", NULL), 1);
	assert_int_equal(chown(".roar", 12345, 12345), 0);
	assert_int_equal(mkdir("sub", 0777), 0);
	assert_int_equal(project_open(0, &p, NULL, &err), -ENOENT);
	assert_int_equal(project_open(PROJECT_CREATE, &p, NULL, &err), -EPERM);
	assert_int_equal(chdir("sub"), 0);
	assert_int_equal(project_open(PROJECT_CREATE, &p, NULL, &err), 0);
}

static void anothers_project_is_refused_everywhere(void **state)
{
	CLEANUP(project_release) struct project p = { .dirfd = -1 };
	CLEANUP(str_release) struct str expected = STR_INIT;
	struct roar_error err = { 0 };

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(project_init(".", NULL), 1);
	assert_int_equal(mkdir("sub", 0777), 0);
	assert_int_equal(chown(".roar", 12345, 12345), 0);
	assert_int_equal(chown(".", 12345, 12345), 0);
	str_addf(&expected,
		 "'%s/.roar' belongs to uid 12345 and roar runs as root (uid "
		 "0): run it as the owner, or take the project over with "
		 "'chown -R 0 %s/.roar'",
		 scene_dir(), scene_dir());
	assert_int_equal(project_open(0, &p, NULL, &err), -EPERM);
	assert_string_equal(err.text, str_cstr(&expected));
	err.text[0] = '\0';
	assert_int_equal(project_init(scene_dir(), &err), -EPERM);
	assert_string_equal(err.text, str_cstr(&expected));
	assert_int_equal(chdir("sub"), 0);
	assert_int_equal(project_open(PROJECT_CREATE, &p, NULL, &err), -EPERM);
	assert_string_equal(err.text, str_cstr(&expected));
	assert_int_equal(access(".roar", F_OK), -1);
	assert_int_equal(setenv("SUDO_UID", "12345", 1), 0);
	assert_int_equal(project_open(0, &p, NULL, &err), 0);
	assert_int_equal(unsetenv("SUDO_UID"), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_nearest_project_upwards_is_found),
		TEST(without_one_the_remedy_is_named),
		TEST(one_can_be_made_on_the_way),
		TEST(it_is_for_its_owner_whatever_the_umask),
		TEST(making_it_again_changes_nothing),
		TEST(what_stands_in_the_way_is_named),
		TEST(a_broken_configuration_costs_no_project),
		TEST(a_lost_folder_of_journals_is_made_again),
		TEST(what_a_stranger_put_there_is_passed_over),
		TEST(anothers_project_is_refused_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
