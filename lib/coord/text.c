/* text.c - see text.h */
#include "coord/text.h"

#include <stddef.h>
#include <stdint.h>

/* How many bytes the UTF-8 character at `s` has; 0 when it is none, or a control
 * character. */
static size_t character(const unsigned char *s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0x80 ? 1 :
		   s[0] < 0xc0 ? 0 :
		   s[0] < 0xe0 ? 2 :
		   s[0] < 0xf0 ? 3 :
		   s[0] < 0xf8 ? 4 :
				 0;
	uint32_t value = n < 2 ? s[0] : s[0] & (0x7fu >> n);

	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (s[i] & 0x3f);
	}
	if (!n || value < least[n] || value > 0x10ffff || value < 0x20 ||
	    (value >= 0x7f && value < 0xa0) ||
	    (value >= 0xd800 && value < 0xe000))
		return 0;
	return n;
}

bool text_is_good(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	while (*s) {
		size_t n = character(s);

		if (!n)
			return false;
		s += n;
	}
	return true;
}
