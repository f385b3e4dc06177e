/* test_format.c - numbers for people, and what the terminal can show. */
#include "cli/cli.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"

static void check_size(uint64_t bytes, const char *expected)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	format_size(&out, bytes);
	assert_string_equal(str_cstr(&out), expected);
}

static void sizes_have_a_unit(void **state)
{
	(void)state;
	check_size(0, "0 B");
	check_size(1023, "1023 B");
	check_size(1024, "1.0 KiB");
	check_size(4096, "4.0 KiB");
	check_size(1536, "1.5 KiB");
	check_size(1024 * 1024 - 1, "1.0 MiB");
	check_size(5ull << 30, "5.0 GiB");
	check_size(UINT64_MAX, "16.0 EiB");
}

static void check_count(uint64_t n, const char *noun, const char *expected)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	format_count(&out, n, noun);
	assert_string_equal(str_cstr(&out), expected);
}

static void counts_have_their_plural(void **state)
{
	(void)state;
	check_count(0, "file", "0 files");
	check_count(1, "file", "1 file");
	check_count(3, "process", "3 processes");
	check_count(2, "entry", "2 entries");
	check_count(2, "day", "2 days");
	check_count(2, "hash", "2 hashes");
	check_count(1234567, "path", "1,234,567 paths");
	check_count(1000, "path", "1,000 paths");
}

static bool has_unicode(const char *all, const char *ctype, const char *lang)
{
	setenv("LC_ALL", all, 1);
	setenv("LC_CTYPE", ctype, 1);
	setenv("LANG", lang, 1);
	return term_of(STDOUT_FILENO).unicode;
}

static void the_first_locale_variable_decides(void **state)
{
	(void)state;
	assert_true(has_unicode("", "", "en_GB.UTF-8"));
	assert_true(has_unicode("C.utf8", "", ""));
	assert_false(has_unicode("C", "", "en_GB.UTF-8"));
	assert_false(has_unicode("", "de_DE.ISO-8859-1", "de_DE.UTF-8"));
	assert_false(has_unicode("", "", ""));
}

static void colours_are_plain_text_elsewhere(void **state)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct term t = { .color = false };

	(void)state;
	term_add(&out, &t, COLOR_RED, "a");
	t.color = true;
	term_add(&out, &t, COLOR_RED, "b");
	term_add(&out, &t, COLOR_NONE, "c");
	assert_string_equal(str_cstr(&out), "a\033[31mb\033[0mc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_have_a_unit),
		cmocka_unit_test(counts_have_their_plural),
		cmocka_unit_test(the_first_locale_variable_decides),
		cmocka_unit_test(colours_are_plain_text_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
