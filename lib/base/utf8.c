/* utf8.c - see utf8.h */
#include "base/utf8.h"

#include <assert.h>
#include <string.h>

#include "base/str.h"

size_t utf8_length(const char *s, size_t len)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *u = (const unsigned char *)s;
	uint32_t c;
	size_t n;

	if (!len)
		return 0;
	if (u[0] < 0x80)
		return 1;
	n = u[0] >= 0xf0 ? 4 : u[0] >= 0xe0 ? 3 : 2;
	if (u[0] < 0xc2 || u[0] > 0xf4 || n > len)
		return 0;
	c = u[0] & (0x7f >> n);
	for (size_t i = 1; i < n; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (u[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	return n;
}

static bool is_control(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;

	return u[0] < 0x20 || u[0] == 0x7f || (u[0] == 0xc2 && u[1] < 0xa0);
}

/* Most text is ASCII, and much of it comes with messages of workers. */
static bool is_text(const char *text, bool printable)
{
	size_t n;

	for (; *text; text += n) {
		n = *text > 0 ? 1 : utf8_length(text, strnlen(text, 4));
		if (n == 0 || (printable && is_control(text)))
			return false;
	}
	return true;
}

bool utf8_is_valid(const char *text)
{
	return is_text(text, false);
}

bool utf8_is_printable(const char *text)
{
	return is_text(text, true);
}

void utf8_add(struct str *out, uint32_t c)
{
	assert(c <= 0x10ffff);
	if (c < 0x80) {
		str_addc(out, (char)c);
		return;
	}
	if (c < 0x800) {
		str_addc(out, (char)(0xc0 | c >> 6));
	} else {
		if (c < 0x10000) {
			str_addc(out, (char)(0xe0 | c >> 12));
		} else {
			str_addc(out, (char)(0xf0 | c >> 18));
			str_addc(out, (char)(0x80 | (c >> 12 & 0x3f)));
		}
		str_addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
	}
	str_addc(out, (char)(0x80 | (c & 0x3f)));
}
