/* line_field.h - fields of text lines, separated by TAB, that programs of a run write.
 *
 * In names, "%" and bytes that are not printable ASCII are %XX, so a name has neither
 * TAB nor newline.  A NUL byte cannot be part of a name. */
#ifndef ROAR_EVENT_LINE_FIELD_H
#define ROAR_EVENT_LINE_FIELD_H

#include <stdbool.h>
#include <stdint.h>

struct str;

void line_field_add_name(struct str *line, const char *name);

/* The text up to `end`, which becomes its NUL; *rest moves past it.  NULL when there
 * is no such byte. */
char *line_field_cut(char **rest, char end);

/* A decimal number without a sign; false for anything else. */
bool line_field_number(const char *text, int64_t *ret);

/* Turns %XX back into bytes, in place; false when they are not a name. */
bool line_field_unescape(char *text);

#endif
