/* test_quote.c - text that a shell or a terminal takes safely.
 *
 * Where bash is at hand the quoting is put before it: what it reads back must
 * be the bytes that went in. */
#include "base/quote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "test.h"

static void utf8_lengths_follow_the_standard(void **state)
{
	(void)state;
	assert_int_equal(utf8_length("", 0), 0);
	assert_int_equal(utf8_length("a", 1), 1);
	assert_int_equal(utf8_length("\0", 1), 1);
	assert_int_equal(utf8_length("\xc3\xa9", 2), 2);
	assert_int_equal(utf8_length("\xe2\x82\xac", 3), 3);
	assert_int_equal(utf8_length("\xf0\x9f\x98\x80", 4), 4);
	assert_int_equal(utf8_length("\xf4\x8f\xbf\xbf", 4), 4);
}

static void invalid_utf8_has_no_length(void **state)
{
	(void)state;
	assert_int_equal(utf8_length("\x80", 1), 0);
	assert_int_equal(utf8_length("\xff", 1), 0);
	/* cut short */
	assert_int_equal(utf8_length("\xc3", 1), 0);
	assert_int_equal(utf8_length("\xf0\x9f\x98", 3), 0);
	assert_int_equal(utf8_length("\xe2x\xac", 3), 0);
	/* overlong */
	assert_int_equal(utf8_length("\xc0\xaf", 2), 0);
	assert_int_equal(utf8_length("\xc1\xbf", 2), 0);
	assert_int_equal(utf8_length("\xe0\x80\xaf", 3), 0);
	assert_int_equal(utf8_length("\xf0\x80\x80\xaf", 4), 0);
	/* surrogate, past the end of Unicode */
	assert_int_equal(utf8_length("\xed\xa0\x80", 3), 0);
	assert_int_equal(utf8_length("\xf4\x90\x80\x80", 4), 0);
	assert_int_equal(utf8_length("\xf5\x80\x80\x80", 4), 0);
}

/* All one- and two-byte sequences, and every lead with all continuations in
 * the second place, against the table of the Unicode standard. */
static size_t slow_length(const unsigned char *u)
{
	if (u[0] < 0x80)
		return 1;
	if (u[0] >= 0xc2 && u[0] <= 0xdf)
		return u[1] >= 0x80 && u[1] <= 0xbf ? 2 : 0;
	if (u[0] >= 0xe0 && u[0] <= 0xef) {
		int low = u[0] == 0xe0 ? 0xa0 : 0x80;
		int high = u[0] == 0xed ? 0x9f : 0xbf;

		return u[1] >= low && u[1] <= high ? 3 : 0;
	}
	if (u[0] >= 0xf0 && u[0] <= 0xf4) {
		int low = u[0] == 0xf0 ? 0x90 : 0x80;
		int high = u[0] == 0xf4 ? 0x8f : 0xbf;

		return u[1] >= low && u[1] <= high ? 4 : 0;
	}
	return 0;
}

static void every_pair_of_bytes_agrees_with_the_table(void **state)
{
	(void)state;
	for (int i = 0; i < 65536; i++) {
		unsigned char u[4] = { (unsigned char)(i >> 8),
				       (unsigned char)i, 0x80, 0x80 };

		assert_int_equal(utf8_length((const char *)u, 4),
				 slow_length(u));
	}
}

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
		cmocka_unit_test(utf8_lengths_follow_the_standard),
		cmocka_unit_test(invalid_utf8_has_no_length),
		cmocka_unit_test(every_pair_of_bytes_agrees_with_the_table),
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
