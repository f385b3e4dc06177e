/* test_ebpf_place.c - names that are looked up after the fact. */
#include "trace/ebpf/place.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"

static char top[64]; /* a fresh directory, canonical */

static int set_up(void **state)
{
	(void)state;
	strcpy(top, "/tmp/roar-test-place-XXXXXX");
	return mkdtemp(top) && chdir(top) == 0 && mkdir("real", 0755) == 0 &&
			       symlink("real", "soft") == 0 ?
		       0 :
		       -1;
}

static int tear_down(void **state)
{
	(void)state;
	(void)unlink("soft");
	(void)rmdir("real");
	return chdir("/") == 0 && rmdir(top) == 0 ? 0 : -1;
}

static void check(struct places *p, const char *base, const char *name,
		  const char *wanted)
{
	CLEANUP(str_release) struct str from = STR_INIT;
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(str_release) struct str full = STR_INIT;
	int r;

	str_adds(&from, base);
	r = place_name(p, &from, name, &path);
	if (!wanted) {
		assert_int_equal(r, -ENOENT);
		return;
	}
	assert_int_equal(r, 0);
	str_addf(&full, "%s%s", top, wanted);
	assert_string_equal(str_cstr(&path), str_cstr(&full));
}

static void a_base_is_told_from_the_leaf_up(void **state)
{
	CLEANUP(str_release) struct str path = STR_INIT;

	(void)state;
	assert_true(place_add_base(&path, "", 0));
	assert_string_equal(str_cstr(&path), "");
	assert_true(place_add_base(&path, "c\0b\0a", 6));
	assert_string_equal(str_cstr(&path), "/a/b/c");
}

static void a_broken_base_is_refused(void **state)
{
	CLEANUP(str_release) struct str path = STR_INIT;

	(void)state;
	assert_false(place_add_base(&path, "ab", 2));
	assert_false(place_add_base(&path, "a\0\0", 3));
	assert_false(place_add_base(&path, "\0", 1));
}

static void links_on_the_way_are_followed_and_the_last_is_not(void **state)
{
	CLEANUP(places_release) struct places p = { 0 };

	(void)state;
	check(&p, top, "x", "/x");
	check(&p, top, "soft", "/soft");
	check(&p, top, "soft/x", "/real/x");
	check(&p, top, "soft/../x", "/x");
	check(&p, top, "real/", "/real");
	check(&p, top, "real/..", "");
}

static void a_look_holds_until_names_change(void **state)
{
	CLEANUP(places_release) struct places p = { 0 };

	(void)state;
	check(&p, top, "soft/x", "/real/x");
	assert_int_equal(unlink("soft"), 0);
	check(&p, top, "soft/y", "/real/y");
	places_forget(&p);
	check(&p, top, "soft/y", "/soft/y");
	assert_int_equal(symlink("real", "soft"), 0);
}

static void what_is_gone_is_taken_as_written_if_it_can_be(void **state)
{
	CLEANUP(places_release) struct places p = { 0 };

	(void)state;
	check(&p, top, "gone/./x", "/gone/x");
	check(&p, top, "gone/../x", NULL);
	check(&p, top, "soft/gone/a/x", "/real/gone/a/x");
}

static void absolute_links_stay_below_another_root(void **state)
{
	CLEANUP(places_release) struct places p = { 0 };

	(void)state;
	assert_int_equal(unlink("soft"), 0);
	assert_int_equal(symlink("/real", "soft"), 0);
	check(&p, top, "/soft/x", "/real/x");
	assert_int_equal(unlink("soft"), 0);
	assert_int_equal(symlink("real", "soft"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_base_is_told_from_the_leaf_up),
		cmocka_unit_test(a_broken_base_is_refused),
		cmocka_unit_test(
			links_on_the_way_are_followed_and_the_last_is_not),
		cmocka_unit_test(a_look_holds_until_names_change),
		cmocka_unit_test(what_is_gone_is_taken_as_written_if_it_can_be),
		cmocka_unit_test(absolute_links_stay_below_another_root),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
