/* test_known.c - files of the system whose canonical name is known */
#include "trace/call/known.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char shell[] = "/bin/sh"; /* a link, nearly everywhere */
static const char other[] = "/usr/bin/env";

enum { NOW = 1000000000, LATER = NOW + 100000000 };

struct fixture {
	struct known known;
	struct process process;
	struct tracee t;
	struct str path; /* canonical name of the shell */
	struct stat st;
	struct str found;
};

static int make(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char *path = realpath(shell, NULL);

	*state = f;
	if (!f || !path || stat(shell, &f->st) < 0) {
		free(path);
		return -1;
	}
	f->t.process = &f->process;
	str_adds(&f->path, path);
	free(path);
	return 0;
}

static int end(void **state)
{
	struct fixture *f = *state;

	known_release(&f->known);
	str_release(&f->path);
	str_release(&f->found);
	free(f);
	return 0;
}

static void add(struct fixture *f, const char *name, const struct str *path)
{
	known_add(&f->known, NOW, &f->t, name, strlen(name), path, &f->st);
}

static bool find(struct fixture *f, const char *name, int64_t now)
{
	struct stat st;
	bool found = known_find(&f->known, now, &f->t, name, strlen(name),
				&f->found, &st);

	if (found)
		assert_int_equal(st.st_ino, f->st.st_ino);
	return found;
}

static void what_was_added_is_found(void **state)
{
	struct fixture *f = *state;

	assert_false(find(f, shell, NOW));
	add(f, shell, &f->path);
	assert_true(find(f, shell, NOW));
	assert_string_equal(f->found.data, f->path.data);
	assert_false(find(f, other, NOW));
	known_forget(&f->known);
	assert_false(find(f, shell, NOW));
}

static void it_is_believed_for_a_while(void **state)
{
	struct fixture *f = *state;

	add(f, shell, &f->path);
	assert_true(find(f, shell, LATER - 1));
	assert_false(find(f, shell, LATER));
	assert_false(find(f, shell, NOW - 1)); /* the clock was set back */
}

/* The name leads elsewhere by now. */
static void another_file_is_not_found(void **state)
{
	struct fixture *f = *state;
	struct str path = STR_INIT;

	str_adds(&path, other);
	add(f, shell, &path);
	assert_false(find(f, shell, NOW));
	str_clear(&path);
	str_adds(&path, "/usr/bin/roar-is-not-there");
	add(f, shell, &path);
	assert_false(find(f, shell, NOW));
	str_release(&path);
}

static void files_of_the_run_are_not_kept(void **state)
{
	struct fixture *f = *state;
	struct str path = STR_INIT;

	str_adds(&path, "/proc/self/exe");
	assert_int_equal(stat(path.data, &f->st), 0);
	add(f, "/proc/self/exe", &path);
	assert_false(find(f, "/proc/self/exe", NOW));
	add(f, "bin/sh", &f->path);
	assert_false(find(f, "bin/sh", NOW));
	str_release(&path);
}

static void names_of_another_root_are_not_ours(void **state)
{
	struct fixture *f = *state;

	add(f, shell, &f->path);
	f->process.foreign_root = true;
	assert_false(find(f, shell, NOW));
	f->process.foreign_root = false;
	f->process.foreign_mounts = true;
	assert_false(find(f, shell, NOW));
	known_forget(&f->known);
	add(f, shell, &f->path);
	f->process.foreign_mounts = false;
	assert_false(find(f, shell, NOW));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_added_is_found, make,
						end),
		cmocka_unit_test_setup_teardown(it_is_believed_for_a_while,
						make, end),
		cmocka_unit_test_setup_teardown(another_file_is_not_found, make,
						end),
		cmocka_unit_test_setup_teardown(files_of_the_run_are_not_kept,
						make, end),
		cmocka_unit_test_setup_teardown(
			names_of_another_root_are_not_ours, make, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
