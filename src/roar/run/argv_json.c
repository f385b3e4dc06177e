/* argv_json.c - see argv_json.h */
#include "run/argv_json.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hex.h"
#include "base/json.h"
#include "base/pool.h"
#include "base/str.h"
#include "base/utf8.h"

void argv_json_encode(char *const argv[], struct str *out)
{
	struct json j = json_writer(out, false);

	json_put_array(&j);
	for (size_t i = 0; argv[i]; i++)
		json_put_string(&j, argv[i]);
	json_end(&j);
}

static int hex4(const char *s)
{
	int value = 0;

	for (int i = 0; i < 4; i++) {
		int digit = hex_digit((unsigned char)s[i]);

		if (digit < 0)
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

/* \uXXXX of the basic plane; that is all the writer uses. */
static int add_unicode(struct str *out, const char *s)
{
	int c = hex4(s);

	if (c <= 0 || (c >= 0xd800 && c <= 0xdfff))
		return -EBADMSG;
	utf8_add(out, (uint32_t)c);
	return 0;
}

static int add_escape(struct str *out, const char **p)
{
	static const char from[] = "\"\\/bfnrt";
	static const char to[] = "\"\\/\b\f\n\r\t";
	const char *at;
	char c = *(*p)++;

	if (c == 'u') {
		int r = add_unicode(out, *p);

		*p += r < 0 ? 0 : 4;
		return r;
	}
	at = c ? strchr(from, c) : NULL;
	if (!at)
		return -EBADMSG;
	str_addc(out, to[at - from]);
	return 0;
}

/* A string whose opening quote has been read. */
static int parse_string(struct str *out, const char **p)
{
	for (;;) {
		char c = *(*p)++;

		if (c == '"')
			return 0;
		if (c == '\0')
			return -EBADMSG;
		if (c == '\\') {
			int r = add_escape(out, p);

			if (r < 0)
				return r;
		} else {
			str_addc(out, c);
		}
	}
}

static const char *skip_space(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

/* Pairs of hexadecimal digits, in place. */
static int decode_hex(struct str *word)
{
	size_t n = 0;

	if (word->failed)
		return -ENOMEM;
	if (word->len % 2)
		return -EBADMSG;
	for (size_t i = 0; i < word->len; i += 2) {
		char four[4] = { '0', '0', word->data[i], word->data[i + 1] };
		int c = hex4(four);

		if (c <= 0)
			return -EBADMSG;
		word->data[n++] = (char)c;
	}
	word->len = n;
	return 0;
}

static int expect(const char **p, const char *text)
{
	size_t n = strlen(text);

	if (strncmp(*p, text, n) != 0)
		return -EBADMSG;
	*p += n;
	return 0;
}

/* {"text":"...","bytes":"..."}: a word that is no UTF-8 (json.h). */
static int parse_odd_word(struct str *word, const char **p)
{
	int r = expect(p, "{\"text\":\"");

	if (r == 0)
		r = parse_string(word, p);
	str_clear(word);
	if (r == 0)
		r = expect(p, ",\"bytes\":\"");
	if (r == 0)
		r = parse_string(word, p);
	if (r == 0)
		r = expect(p, "}");
	return r < 0 ? r : decode_hex(word);
}

static int parse_word(struct str *word, const char **p)
{
	str_clear(word);
	if (**p == '{')
		return parse_odd_word(word, p);
	if (*(*p)++ != '"')
		return -EBADMSG;
	return parse_string(word, p);
}

int argv_json_decode(struct pool *pool, const char *text, char ***ret_argv,
		     size_t *ret_n)
{
	CLEANUP(str_release) struct str word = STR_INIT;
	const char *p = skip_space(text);
	size_t n = 0;
	char **argv;

	/* Every word takes at least two quotes. */
	argv = pool_zalloc(pool, (strlen(text) / 2 + 1) * sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	if (*p++ != '[')
		return -EBADMSG;
	for (p = skip_space(p); *p != ']'; p = skip_space(p)) {
		int r;

		if (n && *p++ != ',')
			return -EBADMSG;
		p = skip_space(p);
		r = parse_word(&word, &p);
		if (r < 0)
			return r;
		if (word.failed)
			return -ENOMEM;
		argv[n] = pool_dup(pool, str_cstr(&word), word.len);
		if (!argv[n++])
			return -ENOMEM;
	}
	if (*skip_space(p + 1))
		return -EBADMSG;
	*ret_argv = argv;
	*ret_n = n;
	return 0;
}
