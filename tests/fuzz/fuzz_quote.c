/* fuzz_quote.c - what quote_shell() writes is read back as the same word.
 *
 * The reader below knows the three forms the quoting uses and nothing else: a
 * bare word of harmless characters, '...' with '\'' for a quote, and $'...'.
 * Anything it does not know, or a word that differs, is a finding.  The other
 * functions of the module get the same bytes. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/quote.h"
#include "base/str.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool promise)
{
	if (!promise)
		abort();
}

static int hex(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	require(at != NULL);
	return (int)(at - digits);
}

/* Behind the backslash of $'...': returns behind the escape. */
static const char *read_escape(const char *p, struct str *word)
{
	switch (*p) {
	case 'n':
		str_addc(word, '\n');
		return p + 1;
	case 't':
		str_addc(word, '\t');
		return p + 1;
	case 'r':
		str_addc(word, '\r');
		return p + 1;
	case 'x':
		str_addc(word, (char)(hex(p[1]) * 16 + hex(p[2])));
		return p + 3;
	default:
		require(*p == '\'' || *p == '\\');
		str_addc(word, *p);
		return p + 1;
	}
}

static const char *read_dollar(const char *p, struct str *word)
{
	while (*p != '\'') {
		require(*p != '\0');
		if (*p == '\\')
			p = read_escape(p + 1, word);
		else
			str_addc(word, *p++);
	}
	return p + 1;
}

static const char *read_single(const char *p, struct str *word)
{
	while (*p != '\'') {
		require(*p != '\0');
		str_addc(word, *p++);
	}
	return p + 1;
}

static void read_word(const char *p, struct str *word)
{
	require(*p != '\0');
	while (*p) {
		if (strncmp(p, "$'", 2) == 0) {
			p = read_dollar(p + 2, word);
		} else if (*p == '\'') {
			p = read_single(p + 1, word);
		} else if (strncmp(p, "\\'", 2) == 0) {
			str_addc(word, '\'');
			p += 2;
		} else {
			require(!strchr(" \t\n\r|&;<>()$`\\\"'*?[]#~!{}", *p));
			str_addc(word, *p++);
		}
	}
}

static void check_word(const char *text)
{
	struct str quoted = STR_INIT;
	struct str word = STR_INIT;

	quote_shell(&quoted, text);
	read_word(str_cstr(&quoted), &word);
	require(strcmp(str_cstr(&word), text) == 0);
	str_release(&quoted);
	str_release(&word);
}

/* Nothing that drives a terminal gets through, and all of it is UTF-8. */
static void check_printable(const char *text, size_t len)
{
	struct str out = STR_INIT;

	quote_printable(&out, text, len);
	for (size_t i = 0; i < out.len;) {
		size_t n = utf8_length(out.data + i, out.len - i);

		require(n > 0 && (unsigned char)out.data[i] >= 0x20);
		require(out.data[i] != 0x7f);
		i += n;
	}
	str_release(&out);
}

static size_t columns(const struct str *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->len; n++)
		i += utf8_length(s->data + i, s->len - i);
	return n;
}

static void check_cut(const char *text, size_t width)
{
	struct str out = STR_INIT;

	quote_printable_cut(&out, text, width);
	require(columns(&out) <= (width < 3 ? 3 : width));
	str_release(&out);
}

/* A JSON string is printable ASCII or UTF-8 whatever the bytes were. */
static void check_json(const char *text, size_t len)
{
	struct str out = STR_INIT;
	struct json j = json_writer(&out, false);

	json_put_bytes(&j, text, len);
	require(out.len >= 2 && out.data[out.len - 1] == '"');
	for (size_t i = 0; i < out.len;) {
		size_t n = utf8_length(out.data + i, out.len - i);

		require(n > 0 && (unsigned char)out.data[i] >= 0x20);
		i += n;
	}
	str_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1);

	if (!text)
		return 0;
	if (len)
		memcpy(text, data, len);
	text[len] = '\0';
	check_word(text);
	check_printable(text, len);
	check_cut(text, len ? data[0] : 0);
	check_json(text, len);
	free(text);
	return 0;
}
