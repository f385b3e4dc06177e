/* json_read.c - see json_read.h */
#include "base/json_read.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hex.h"
#include "base/utf8.h"

struct reader {
	const char *at, *end;
};

static int peek(const struct reader *r)
{
	return r->at < r->end ? (unsigned char)*r->at : -1;
}

static bool take(struct reader *r, char c)
{
	if (peek(r) != c)
		return false;
	r->at++;
	return true;
}

static void skip_blanks(struct reader *r)
{
	while (r->at < r->end && memchr(" \t\r\n", *r->at, 4))
		r->at++;
}

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

/* ---- one value ---- */

/* The four digits behind \u; -1: there are not as many. */
static int32_t take_hex(struct reader *r)
{
	int32_t n = 0;

	for (int i = 0; i < 4; i++, r->at++) {
		int digit = hex_digit(peek(r));

		if (digit < 0)
			return -1;
		n = n << 4 | digit;
	}
	return n;
}

static bool skip_escape(struct reader *r)
{
	int c = peek(r);

	if (c < 0 || !strchr("\"\\/bfnrtu", c) || !c)
		return false;
	r->at++;
	return c != 'u' || take_hex(r) >= 0;
}

static bool skip_string(struct reader *r)
{
	if (!take(r, '"'))
		return false;
	while (peek(r) >= 0x20 && peek(r) != '"') {
		size_t n;

		if (take(r, '\\')) {
			if (!skip_escape(r))
				return false;
			continue;
		}
		n = utf8_length(r->at, (size_t)(r->end - r->at));
		if (n == 0)
			return false;
		r->at += n;
	}
	return take(r, '"');
}

static bool skip_digits(struct reader *r)
{
	const char *first = r->at;

	while (is_digit(peek(r)))
		r->at++;
	return r->at > first;
}

static bool skip_number(struct reader *r)
{
	(void)take(r, '-');
	if (!take(r, '0') && !skip_digits(r))
		return false;
	if (take(r, '.') && !skip_digits(r))
		return false;
	if (!take(r, 'e') && !take(r, 'E'))
		return true;
	if (!take(r, '+'))
		(void)take(r, '-');
	return skip_digits(r);
}

static bool skip_word(struct reader *r, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
		return false;
	r->at += len;
	return true;
}

static bool skip_value(struct reader *r, int depth);

/* What stands before a member's value: its name, which is given, and a colon. */
static bool skip_name(struct reader *r, struct json_value *ret)
{
	skip_blanks(r);
	ret->text = r->at;
	if (!skip_string(r))
		return false;
	ret->len = (size_t)(r->at - ret->text);
	skip_blanks(r);
	return take(r, ':');
}

/* An object or an array, behind its first character. */
static bool skip_items(struct reader *r, char closer, int depth)
{
	struct json_value name;

	skip_blanks(r);
	if (take(r, closer))
		return true;
	do {
		if (closer == '}' && !skip_name(r, &name))
			return false;
		if (!skip_value(r, depth))
			return false;
	} while (take(r, ','));
	return take(r, closer);
}

/* With the blanks around it. */
static bool skip_value(struct reader *r, int depth)
{
	bool good;

	skip_blanks(r);
	if (depth == JSON_DEPTH_MAX)
		return false;
	if (take(r, '{'))
		good = skip_items(r, '}', depth + 1);
	else if (take(r, '['))
		good = skip_items(r, ']', depth + 1);
	else if (peek(r) == '"')
		good = skip_string(r);
	else
		good = skip_word(r, "true") || skip_word(r, "false") ||
		       skip_word(r, "null") || skip_number(r);
	skip_blanks(r);
	return good;
}

/* ---- members ---- */

static bool is_named(const struct json_value *name, const char *wanted)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	return json_read_string(name, &text) == 0 &&
	       strcmp(str_cstr(&text), wanted) == 0;
}

static struct json_value without_blanks(const char *first, const char *end)
{
	while (end > first && memchr(" \t\r\n", end[-1], 4))
		end--;
	return (struct json_value){ first, (size_t)(end - first) };
}

/* In a text that was checked. */
static int find_member(struct reader r, const char *wanted,
		       struct json_value *ret)
{
	struct json_value name;
	int found = 0;

	skip_blanks(&r);
	if (!take(&r, '{'))
		return -EBADMSG;
	while (skip_name(&r, &name)) {
		skip_blanks(&r);
		const char *first = r.at;

		(void)skip_value(&r, 0);
		if (is_named(&name, wanted)) {
			*ret = without_blanks(first, r.at);
			found = 1;
		}
		(void)take(&r, ',');
	}
	return found;
}

int json_member(const char *text, size_t len, const char *name,
		struct json_value *ret)
{
	struct reader r = { text, text + len };

	if (!skip_value(&r, 0) || r.at < r.end)
		return -EBADMSG;
	return find_member((struct reader){ text, text + len }, name, ret);
}

/* ---- what they say ---- */

/* Behind \u.  Beyond 16 bits there are two of them; one half alone is no character. */
static int add_unicode(struct reader *r, struct str *out)
{
	uint32_t c = (uint32_t)take_hex(r);

	if (c >= 0xd800 && c < 0xdc00) {
		uint32_t low = take(r, '\\') && take(r, 'u') ?
				       (uint32_t)take_hex(r) :
				       0;

		if (low < 0xdc00 || low > 0xdfff)
			return -EINVAL;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	if (c == 0 || (c >= 0xdc00 && c < 0xe000))
		return -EINVAL;
	utf8_add(out, c);
	return 0;
}

static int add_escaped(struct reader *r, struct str *out)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	char c = *r->at++;
	const char *place = strchr(from, c);

	if (c == 'u')
		return add_unicode(r, out);
	str_addc(out, place ? to[place - from] : c);
	return 0;
}

int json_read_string(const struct json_value *v, struct str *ret)
{
	struct reader r = { v->text, v->text + v->len };
	int e = take(&r, '"') ? 0 : -EINVAL;

	while (e == 0 && peek(&r) != '"') {
		if (take(&r, '\\'))
			e = add_escaped(&r, ret);
		else
			str_addc(ret, *r.at++);
	}
	return e < 0 ? e : str_error(ret);
}

int json_read_int(const struct json_value *v, int64_t *ret)
{
	struct reader r = { v->text, v->text + v->len };
	char *end;
	long long n;

	(void)take(&r, '-');
	if (!skip_digits(&r) || r.at < r.end)
		return -EINVAL;
	errno = 0;
	n = strtoll(v->text, &end, 10); /* what follows in the text ends it */
	if (errno)
		return -EINVAL;
	*ret = n;
	return 0;
}
