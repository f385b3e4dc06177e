/* argv_json.c - see argv_json.h */
#include "argv_json.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/pool.h"
#include "base/str.h"

void argv_json_encode(char *const argv[], struct str *out)
{
	struct json j = json_writer(out, false);

	json_array(&j);
	for (size_t i = 0; argv[i]; i++)
		json_string(&j, argv[i]);
	json_end(&j);
}

static int hex4(const char *s)
{
	int value = 0;

	for (int i = 0; i < 4; i++) {
		if (!isxdigit((unsigned char)s[i]))
			return -1;
		value = value * 16 + (isdigit((unsigned char)s[i]) ?
					      s[i] - '0' :
					      tolower(s[i]) - 'a' + 10);
	}
	return value;
}

/* \uXXXX: the writer uses it for control characters and, as lone surrogates, for
 * bytes that are no UTF-8. */
static int add_unicode(struct str *out, const char *s)
{
	int c = hex4(s);

	if (c >= 0xdc80 && c <= 0xdcff)
		str_addc(out, (char)(c - 0xdc00));
	else if (c > 0 && c < 0x80)
		str_addc(out, (char)c);
	else
		return -EBADMSG;
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
		if (*p++ != '"')
			return -EBADMSG;
		str_clear(&word);
		r = parse_string(&word, &p);
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
