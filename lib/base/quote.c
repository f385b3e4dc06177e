/* quote.c - see quote.h */
#include "base/quote.h"

#include <stdint.h>
#include <string.h>

#include "base/macros.h"
#include "base/str.h"
#include "base/utf8.h"

static bool ascii_only;

void quote_set_ascii(bool on)
{
	ascii_only = on;
}

/* Characters that are not seen but change what is: marks and overrides of the
 * direction of text, separators of lines, and the like. */
static bool is_invisible(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x80, 0x9f }, /* C1 controls */
		{ 0x61c, 0x61c },   { 0x200b, 0x200f }, { 0x2028, 0x202e },
		{ 0x2060, 0x2069 }, { 0xfeff, 0xfeff }, { 0xe0000, 0xe007f },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

/* `s` is a valid character of `n` bytes. */
static bool is_control(const char *s, size_t n)
{
	unsigned char lead = (unsigned char)s[0];
	uint32_t c = lead & (0x7f >> n);

	if (n == 1)
		return lead < 0x20 || lead == 0x7f;
	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	return is_invisible(c);
}

static void add_escaped(struct str *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '\n')
			str_adds(out, "\\n");
		else if (c == '\t')
			str_adds(out, "\\t");
		else if (c == '\r')
			str_adds(out, "\\r");
		else
			str_addf(out, "\\x%02x", c);
	}
}

bool quote_is_printable(const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = utf8_length(text + i, len - i);

		if (!n || is_control(text + i, n))
			return false;
		i += n;
	}
	return true;
}

static void quote_dollar(struct str *out, const char *word, size_t len)
{
	str_adds(out, "$'");
	for (size_t i = 0; i < len;) {
		size_t n = utf8_length(word + i, len - i);

		if (!n || is_control(word + i, n))
			add_escaped(out, word + i, n ? n : 1);
		else if (word[i] == '\'' || word[i] == '\\')
			str_addf(out, "\\%c", word[i]);
		else
			str_add(out, word + i, n);
		i += n ? n : 1;
	}
	str_addc(out, '\'');
}

void quote_shell(struct str *out, const char *word)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_-./=:,@%+^";
	size_t len = strlen(word);

	if (len && strspn(word, safe) == len) {
		str_add(out, word, len);
		return;
	}
	if (!quote_is_printable(word, len)) {
		quote_dollar(out, word, len);
		return;
	}
	str_addc(out, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			str_adds(out, "'\\''");
		else
			str_addc(out, *word);
	}
	str_addc(out, '\'');
}

/* As the first word, NAME=VALUE would be an assignment and `if` a keyword. */
static bool is_special_first(const char *word)
{
	static const char *const reserved[] = {
		"if",	"then", "else",	    "elif",   "fi",	"do",
		"done", "case", "esac",	    "while",  "until",	"for",
		"in",	"time", "function", "select", "coproc",
	};

	if (strchr(word, '='))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
		if (strcmp(word, reserved[i]) == 0)
			return true;
	return false;
}

void quote_argv(struct str *out, char *const argv[])
{
	for (size_t i = 0; argv[i]; i++) {
		size_t start = out->len;

		if (i)
			str_addc(out, ' ');
		quote_shell(out, argv[i]);
		/* Quotes it did not need for its own sake. */
		if (i == 0 && is_special_first(argv[0]) && !out->failed &&
		    out->data[start] != '\'' && out->data[start] != '$') {
			out->len = start;
			str_addf(out, "'%s'", argv[0]);
		}
	}
}

void quote_printable(struct str *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = utf8_length(text + i, len - i);

		if (!n || is_control(text + i, n) || (n > 1 && ascii_only))
			add_escaped(out, text + i, n ? n : 1);
		else
			str_add(out, text + i, n);
		i += n ? n : 1;
	}
}

void quote_name(struct str *out, const char *name, size_t len)
{
	while (len) {
		const char *slash = memchr(name, '\\', len);
		size_t n = slash ? (size_t)(slash - name) : len;

		quote_printable(out, name, n);
		if (slash)
			str_adds(out, "\\\\");
		n += slash != NULL;
		name += n;
		len -= n;
	}
}

/* Columns of text that quote_printable() wrote: every UTF-8 lead byte. */
static size_t columns(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

void quote_printable_cut(struct str *out, const char *text, size_t width)
{
	size_t start = out->len;
	size_t end = start;

	str_add(out, "", 0); /* so that there are bytes to count */
	quote_printable(out, text, strlen(text));
	if (out->failed ||
	    columns(out->data + start, out->len - start) <= width)
		return;
	for (size_t n = 0; n + 3 < width && end < out->len; n++)
		end += utf8_length(out->data + end, out->len - end);
	out->len = end;
	out->data[end] = '\0';
	str_adds(out, "...");
}
