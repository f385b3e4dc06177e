/* hex.h - hexadecimal digits. */
#ifndef ROAR_BASE_HEX_H
#define ROAR_BASE_HEX_H

/* What a digit, of either case, stands for; -1: it is none. */
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

#endif
