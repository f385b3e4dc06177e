/* hex.h - hexadecimal digits. */
#ifndef ROAR_BASE_HEX_H
#define ROAR_BASE_HEX_H

/* The value of a digit, of either case; -1: not a digit. */
static inline int hex_digit(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* The byte that the two digits at `text` stand for; -1: they are not two digits.
 * The second is read only if the first is a digit, so a NUL ends the text. */
static inline int hex_byte(const char *text)
{
	int high = hex_digit(text[0]);
	int low = high < 0 ? -1 : hex_digit(text[1]);

	return low < 0 ? -1 : high << 4 | low;
}

#endif
