/* line_field.c - see line_field.h */
#include "event/line_field.h"

#include <string.h>

#include "base/hex.h"
#include "base/number.h"
#include "base/str.h"

void line_field_add_name(struct str *line, const char *name)
{
	for (const unsigned char *p = (const unsigned char *)name; *p; p++) {
		if (*p >= ' ' && *p < 0x7f && *p != '%')
			str_addc(line, (char)*p);
		else
			str_addf(line, "%%%02X", *p);
	}
}

char *line_field_cut(char **rest, char end)
{
	char *text = *rest;
	char *stop = strchr(text, end);

	if (!stop)
		return NULL;
	*stop = '\0';
	*rest = stop + 1;
	return text;
}

bool line_field_number(const char *text, int64_t *ret)
{
	return number_parse(text, 0, INT64_MAX, ret) == 0;
}

bool line_field_unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		int c;

		if (*p != '%') {
			*to++ = *p;
			continue;
		}
		c = hex_byte(p + 1);
		if (c <= 0)
			return false;
		*to++ = (char)c;
		p += 2;
	}
	*to = '\0';
	return true;
}
