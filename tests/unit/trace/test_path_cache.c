/* test_path_cache.c - files of the system whose canonical name is known */
#include "trace/call/path_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static const char shell[] = "/bin/sh"; /* a link, nearly everywhere */
static const char other[] = "/usr/bin/env";

enum { NOW = 1000000000, LATER = NOW + 100000000 };

struct fixture {
	struct path_cache known;
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

	path_cache_release(&f->known);
	str_release(&f->path);
	str_release(&f->found);
	free(f);
	return 0;
}

static void add(struct fixture *f, const char *name, const struct str *path)
{
	path_cache_add(&f->known, NOW, &f->t, name, strlen(name), path, &f->st);
}

static const struct path_cache_file *find_slot(const struct fixture *f,
					       const char *name)
{
	for (size_t i = 0; i < PATH_CACHE_SLOTS; i++)
		if (f->known.files[i].name.len &&
		    strcmp(f->known.files[i].name.data, name) == 0)
			return &f->known.files[i];
	fail();
	return NULL;
}

static bool find(struct fixture *f, const char *name, int64_t now)
{
	struct stat st;
	bool found = path_cache_find(&f->known, now, &f->t, name, strlen(name),
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
	path_cache_forget(&f->known);
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
	assert_int_equal(stat(other, &f->st), 0);
	add(f, shell, &path);
	assert_false(find(f, shell, NOW));
	str_clear(&path);
	str_adds(&path, "/usr/bin/roar-is-not-there");
	add(f, shell, &path);
	assert_false(find(f, shell, NOW));
	str_release(&path);
}

/* A canonical name at which nothing stands shows whether it was looked at. */
static bool finds_unlooked(struct fixture *f)
{
	struct str path = STR_INIT;
	bool found;

	str_adds(&path, "/usr/bin/roar-is-not-there");
	add(f, shell, &path);
	found = find(f, shell, NOW);
	if (found)
		assert_string_equal(f->found.data, path.data);
	str_release(&path);
	return found;
}

static void one_look_is_enough_for_what_has_not_changed(void **state)
{
	struct fixture *f = *state;

	if (f->st.st_ctim.tv_sec + 5 > time(NULL))
		skip();
	assert_true(finds_unlooked(f));
}

/* Whatever gives it another name changes its ctime. */
static void what_has_changed_is_looked_at_again(void **state)
{
	struct fixture *f = *state;

	f->st.st_ctim.tv_nsec ^= 1;
	assert_false(finds_unlooked(f));
}

/* It may change once more in the same tick. */
static void a_young_stamp_proves_nothing(void **state)
{
	struct fixture *f = *state;

	(void)clock_gettime(CLOCK_REALTIME, &f->st.st_ctim);
	add(f, shell, &f->path);
	assert_false(stamp_exists(&find_slot(f, shell)->stamp));
	assert_true(find(f, shell, NOW));
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
	path_cache_forget(&f->known);
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
		cmocka_unit_test_setup_teardown(
			one_look_is_enough_for_what_has_not_changed, make, end),
		cmocka_unit_test_setup_teardown(
			what_has_changed_is_looked_at_again, make, end),
		cmocka_unit_test_setup_teardown(a_young_stamp_proves_nothing,
						make, end),
		cmocka_unit_test_setup_teardown(files_of_the_run_are_not_kept,
						make, end),
		cmocka_unit_test_setup_teardown(
			names_of_another_root_are_not_ours, make, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
