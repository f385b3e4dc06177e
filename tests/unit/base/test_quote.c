/* test_quote.c - text that a shell or a terminal takes safely.
 *
 * Where bash is at hand the quoting is put before it: what it reads back must
 * be the bytes that went in. */
#include "base/quote.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "test.h"

static const char *quoted(struct str *s, const char *word)
{
	str_clear(s);
	quote_shell(s, word);
	return str_cstr(s);
}

static void plain_words_stay_as_they_are(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	assert_string_equal(quoted(&s, "train.py"), "train.py");
	assert_string_equal(quoted(&s, "--lr=0.1"), "--lr=0.1");
	assert_string_equal(quoted(&s, "/a/b-c_d+e@f:g,h"), "/a/b-c_d+e@f:g,h");
}

static void words_a_shell_would_change_are_quoted(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	assert_string_equal(quoted(&s, ""), "''");
	assert_string_equal(quoted(&s, "a b"), "'a b'");
	assert_string_equal(quoted(&s, "$HOME"), "'$HOME'");
	assert_string_equal(quoted(&s, "*"), "'*'");
	assert_string_equal(quoted(&s, "~"), "'~'");
	assert_string_equal(quoted(&s, "#x"), "'#x'");
	assert_string_equal(quoted(&s, "!x"), "'!x'");
	assert_string_equal(quoted(&s, "it's"), "'it'\\''s'");
	assert_string_equal(quoted(&s, "\xc3\xa9"), "'\xc3\xa9'");
}

static void controls_and_broken_utf8_use_dollar_quotes(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	assert_string_equal(quoted(&s, "a\nb"), "$'a\\nb'");
	assert_string_equal(quoted(&s, "\x1b[31m"), "$'\\x1b[31m'");
	assert_string_equal(quoted(&s, "\xff'\\"), "$'\\xff\\'\\\\'");
	/* U+0085 is a control character in two bytes. */
	assert_string_equal(quoted(&s, "\xc2\x85"), "$'\\xc2\\x85'");
}

static void argv_is_joined_by_spaces(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;
	char *argv[] = { "sh", "-c", "exit 3", NULL };
	char *none[] = { NULL };

	(void)state;
	quote_argv(&s, argv);
	assert_str(&s, "sh -c 'exit 3'");
	str_clear(&s);
	quote_argv(&s, none);
	assert_string_equal(str_cstr(&s), "");
}

/* What `bash -c "printf '%s' WORD"` prints, without the shell's own help in
 * between: posix_spawn would do, popen is shorter and /bin/sh only sees the
 * name of a file. */
static void bash_prints(const char *script, struct str *out)
{
	char path[] = "/tmp/roar-test-quote-XXXXXX";
	char command[64];
	char part[4096];
	size_t n;
	int fd = mkstemp(path);
	FILE *f;

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, script, strlen(script)), 0);
	(void)close(fd);
	(void)snprintf(command, sizeof(command), "bash %s", path);
	f = popen(command, "r");
	assert_non_null(f);
	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		str_add(out, part, n);
	assert_int_equal(pclose(f), 0);
	(void)unlink(path);
}

static void bash_reads_back_every_byte(void **state)
{
	CLEANUP(str_release) struct str script = STR_INIT;
	CLEANUP(str_release) struct str expected = STR_INIT;
	CLEANUP(str_release) struct str got = STR_INIT;

	(void)state;
	if (system("command -v bash >/dev/null") != 0)
		skip();
	/* Each byte between letters that could be taken for hex digits. */
	str_adds(&script, "printf '%s|'");
	for (int c = 1; c < 256; c++) {
		char word[] = { 'f', (char)c, '0', 'a', '\0' };

		str_addc(&script, ' ');
		quote_shell(&script, word);
		str_adds(&expected, word);
		str_addc(&expected, '|');
	}
	bash_prints(str_cstr(&script), &got);
	assert_int_equal(got.len, expected.len);
	assert_memory_equal(got.data, expected.data, expected.len);
}

static void printable_shows_what_a_terminal_must_not_get(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	quote_printable(&s, "a\n\t\r\x1b[0m\x7f\xff\xc3\xa9\0z", 14);
	assert_str(&s, "a\\n\\t\\r\\x1b[0m\\x7f\\xff\xc3\xa9\\x00z");
}

static const char *cut(struct str *s, const char *text, size_t width)
{
	str_clear(s);
	quote_printable_cut(s, text, width);
	return str_cstr(s);
}

static void names_never_look_the_same(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	quote_name(&s, "a\nb", 3);
	assert_string_equal(str_cstr(&s), "a\\nb");
	str_clear(&s);
	quote_name(&s, "a\\nb\\", 5);
	assert_string_equal(str_cstr(&s), "a\\\\nb\\\\");
}

static void what_turns_text_around_is_shown(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	quote_printable(&s, "a\u202ecod.exe\u2066\u200b\u00e9", 19);
	assert_string_equal(str_cstr(&s),
			    "a\\xe2\\x80\\xaecod.exe"
			    "\\xe2\\x81\\xa6\\xe2\\x80\\x8b\u00e9");
	str_clear(&s);
	quote_shell(&s, "a\u202e");
	assert_string_equal(str_cstr(&s), "$'a\\xe2\\x80\\xae'");
}

static void long_text_is_cut_to_its_width(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	assert_string_equal(cut(&s, "short", 5), "short");
	assert_string_equal(cut(&s, "longer", 5), "lo...");
	assert_string_equal(cut(&s, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 4),
			    "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9");
	assert_string_equal(cut(&s, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9",
				4),
			    "\xc3\xa9...");
}

static void nothing_at_all_can_be_cut(void **state)
{
	struct str s = STR_INIT;

	(void)state;
	quote_printable_cut(&s, "", 10);
	assert_string_equal(str_cstr(&s), "");
	str_release(&s);
}

static void a_cut_keeps_what_was_there_before(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	str_adds(&s, "name: ");
	quote_printable_cut(&s, "abcdefgh", 6);
	assert_str(&s, "name: abc...");
}

static void without_utf8_every_high_byte_is_escaped(void **state)
{
	CLEANUP(str_release) struct str s = STR_INIT;

	(void)state;
	quote_set_ascii(true);
	quote_printable(&s, "caf\xc3\xa9\n\xff", 7);
	assert_str(&s, "caf\\xc3\\xa9\\n\\xff");
	assert_string_equal(cut(&s, "\xc3\xa9", 8), "\\xc3\\xa9");
	assert_string_equal(cut(&s, "\xc3\xa9 and more", 8), "\\xc3\\...");
	str_clear(&s);
	quote_shell(&s, "caf\xc3\xa9");
	assert_str(&s, "'caf\xc3\xa9'");
	quote_set_ascii(false);
	assert_string_equal(cut(&s, "\xc3\xa9", 8), "\xc3\xa9");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_words_stay_as_they_are),
		cmocka_unit_test(words_a_shell_would_change_are_quoted),
		cmocka_unit_test(controls_and_broken_utf8_use_dollar_quotes),
		cmocka_unit_test(argv_is_joined_by_spaces),
		cmocka_unit_test(bash_reads_back_every_byte),
		cmocka_unit_test(printable_shows_what_a_terminal_must_not_get),
		cmocka_unit_test(names_never_look_the_same),
		cmocka_unit_test(what_turns_text_around_is_shown),
		cmocka_unit_test(long_text_is_cut_to_its_width),
		cmocka_unit_test(nothing_at_all_can_be_cut),
		cmocka_unit_test(a_cut_keeps_what_was_there_before),
		cmocka_unit_test(without_utf8_every_high_byte_is_escaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
