/* toml_lex.c - characters, white space and strings of TOML.
 *
 * toml_take_newline() is the only function that steps over a newline, so it
 * alone counts lines. */
#include "base/toml_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hex.h"
#include "base/pool.h"
#include "base/str.h"
#include "base/utf8.h"

int toml_fail(struct toml_parser *p, const char *fmt, ...)
{
	char what[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return error_set(p->err, -EINVAL, "'%s' line %d: %s", p->file, p->line,
			 what);
}

/* ---- characters ---- */

/* The character at the place, -1 at the end. */
int toml_peek(const struct toml_parser *p)
{
	return p->pos < p->len ? (unsigned char)p->text[p->pos] : -1;
}

bool toml_starts_with(const struct toml_parser *p, const char *word)
{
	size_t n = strlen(word);

	return p->len - p->pos >= n && !memcmp(p->text + p->pos, word, n);
}

bool toml_take(struct toml_parser *p, const char *word)
{
	if (!toml_starts_with(p, word))
		return false;
	p->pos += strlen(word);
	return true;
}

bool toml_take_newline(struct toml_parser *p)
{
	if (!toml_take(p, "\n") && !toml_take(p, "\r\n"))
		return false;
	p->line++;
	return true;
}

void toml_skip_blanks(struct toml_parser *p)
{
	while (toml_peek(p) == ' ' || toml_peek(p) == '\t')
		p->pos++;
}

static bool is_control(int c)
{
	return (c >= 0 && c < 0x20 && c != '\t') || c == 0x7f;
}

/* ---- space ---- */

int toml_skip_comment(struct toml_parser *p)
{
	if (toml_peek(p) != '#')
		return 0;
	while (toml_peek(p) >= 0 && !toml_starts_with(p, "\n") &&
	       !toml_starts_with(p, "\r\n")) {
		if (is_control(toml_peek(p)))
			return toml_fail(p,
					 "a comment has a control character");
		p->pos++;
	}
	return 0;
}

/* Steps over blanks, comments and newlines, as allowed inside of arrays. */
int toml_skip_space(struct toml_parser *p)
{
	do {
		int r;

		toml_skip_blanks(p);
		r = toml_skip_comment(p);
		if (r < 0)
			return r;
	} while (toml_take_newline(p));
	return 0;
}

/* What may follow a key and value or a header: nothing but a comment. */
int toml_end_line(struct toml_parser *p)
{
	int r;

	toml_skip_blanks(p);
	r = toml_skip_comment(p);
	if (r < 0)
		return r;
	if (toml_peek(p) >= 0 && !toml_take_newline(p))
		return toml_fail(p,
				 "unexpected text after the value or header");
	return 0;
}

/* ---- strings ---- */

/* The digits of \uXXXX or \UXXXXXXXX. */
static int parse_unicode(struct toml_parser *p, int n_digits, struct str *out)
{
	uint32_t c = 0;

	for (int i = 0; i < n_digits; i++) {
		int digit = hex_digit(toml_peek(p));

		if (digit < 0)
			return toml_fail(p, "\\%c needs %d hexadecimal digits",
					 n_digits == 4 ? 'u' : 'U', n_digits);
		c = c << 4 | (uint32_t)digit;
		p->pos++;
	}
	if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return toml_fail(p,
				 "an escape does not name a Unicode character");
	if (c == 0)
		return toml_fail(p, "a setting cannot hold a NUL character");
	utf8_add(out, c);
	return 0;
}

/* Behind the backslash of a basic string. */
static int parse_escape(struct toml_parser *p, struct str *out)
{
	static const char letters[] = "btnfr\"\\";
	static const char meanings[] = "\b\t\n\f\r\"\\";
	int c = toml_peek(p);
	const char *found = c > 0 ? strchr(letters, c) : NULL;

	if (found) {
		p->pos++;
		str_addc(out, meanings[found - letters]);
		return 0;
	}
	if (toml_take(p, "u"))
		return parse_unicode(p, 4, out);
	if (toml_take(p, "U"))
		return parse_unicode(p, 8, out);
	return toml_fail(p,
			 "a string has an unknown escape (write \\\\ for one "
			 "backslash, or use '...')");
}

/* A backslash at the end of a line in """...""" eats the white space that
 * follows.  True when that was what stood there. */
static bool take_continuation(struct toml_parser *p)
{
	struct toml_parser saved = *p;

	toml_skip_blanks(p);
	if (!toml_take_newline(p)) {
		p->pos = saved.pos;
		return false;
	}
	do
		toml_skip_blanks(p);
	while (toml_take_newline(p));
	return true;
}

static int parse_one_line(struct toml_parser *p, char quote, struct str *out)
{
	int r;

	for (;;) {
		int c = toml_peek(p);

		if (c < 0 || c == '\n' || c == '\r')
			return toml_fail(p,
					 "a string is not closed on its line");
		if (is_control(c))
			return toml_fail(p, "a string has a control character");
		p->pos++;
		if (c == quote)
			return 0;
		if (c != '\\' || quote == '\'') {
			str_addc(out, (char)c);
			continue;
		}
		r = parse_escape(p, out);
		if (r < 0)
			return r;
	}
}

/* The end of a multi-line string: three quotes, and up to two more that belong
 * to the content. */
static void add_inner_quotes(struct toml_parser *p, char quote, struct str *out)
{
	for (int i = 0; i < 2 && toml_peek(p) == quote; i++) {
		str_addc(out, quote);
		p->pos++;
	}
}

static int parse_multi_line(struct toml_parser *p, char quote, struct str *out)
{
	const char closer[] = { quote, quote, quote, '\0' };
	int opened = p->line;
	int r;

	(void)toml_take_newline(p); /* one right behind the opening is dropped */
	for (;;) {
		int c = toml_peek(p);

		if (c < 0)
			return toml_fail(p,
					 "the string of line %d is not closed",
					 opened);
		if (toml_take(p, closer)) {
			add_inner_quotes(p, quote, out);
			return 0;
		}
		if (toml_take_newline(p)) {
			str_addc(out, '\n');
			continue;
		}
		if (is_control(c))
			return toml_fail(p, "a string has a control character");
		p->pos++;
		if (c != '\\' || quote == '\'') {
			str_addc(out, (char)c);
			continue;
		}
		if (take_continuation(p))
			continue;
		r = parse_escape(p, out);
		if (r < 0)
			return r;
	}
}

int toml_parse_string(struct toml_parser *p, bool multi_line, const char **ret)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	char quote = (char)toml_peek(p);
	const char opener[] = { quote, quote, quote, '\0' };
	int r;

	if (multi_line && toml_take(p, opener)) {
		r = parse_multi_line(p, quote, &out);
	} else {
		p->pos++;
		r = parse_one_line(p, quote, &out);
	}
	if (r == 0)
		r = str_error(&out);
	if (r < 0)
		return r;
	*ret = pool_dup(p->pool, str_cstr(&out), out.len);
	return *ret ? 0 : -ENOMEM;
}

/* ---- writing ---- */

static void add_escaped(struct str *out, unsigned char c)
{
	static const char plain[] = "\b\t\n\f\r\"\\";
	static const char letters[] = "btnfr\"\\";
	const char *found = strchr(plain, c);

	if (found)
		str_addf(out, "\\%c", letters[found - plain]);
	else
		str_addf(out, "\\u%04x", c);
}

int toml_add_string(struct str *out, const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len;) {
		size_t n = utf8_length(text + i, len - i);

		if (!n)
			return -EILSEQ;
		i += n;
	}
	str_addc(out, '"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x20 || c == 0x7f || c == '"' || c == '\\')
			add_escaped(out, c);
		else
			str_addc(out, (char)c);
	}
	str_addc(out, '"');
	return str_error(out);
}
