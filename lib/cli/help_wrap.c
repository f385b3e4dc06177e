/* help_wrap.c - paragraphs at a width; see help.h */
#include <string.h>

#include "base/str.h"
#include "cli/help.h"

/* Words up to the next blank line, broken at the width. */
static const char *wrap_paragraph(struct str *out, const char *text, int indent,
				  int width)
{
	int column = 0;

	while (*text && strncmp(text, "\n\n", 2) != 0) {
		size_t n = strcspn(text, " \n");

		if (column && column + 1 + (int)n > width) {
			str_addc(out, '\n');
			column = 0;
		}
		if (n && column)
			str_addc(out, ' ');
		else if (n)
			str_pad(out, ' ', (size_t)indent);
		if (n)
			column += (column ? 1 : indent) + (int)n;
		str_add(out, text, n);
		text += n;
		if (*text && strncmp(text, "\n\n", 2) != 0)
			text++;
	}
	return text;
}

static const char *copy_lines(struct str *out, const char *text, int indent)
{
	while (*text && *text != '\n') {
		size_t n = strcspn(text, "\n");

		str_pad(out, ' ', (size_t)indent);
		str_add(out, text, n);
		text += n;
		if (text[0] == '\n' && text[1] && text[1] != '\n') {
			str_addc(out, '\n');
			text++;
		} else {
			break;
		}
	}
	return text;
}

void help_wrap(struct str *out, const char *text, int indent, int width)
{
	while (*text) {
		text = *text == ' ' ? copy_lines(out, text, indent) :
				      wrap_paragraph(out, text, indent, width);
		str_addc(out, '\n');
		if (!strncmp(text, "\n\n", 2))
			str_addc(out, '\n');
		text += strspn(text, "\n");
	}
}
