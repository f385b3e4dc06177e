/* utf8.h - checks and encodes UTF-8. */
#ifndef ROAR_BASE_UTF8_H
#define ROAR_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str;

/* Length of the valid UTF-8 character at `s` (at most `len` bytes), 0 if it is invalid:
 * overlong forms, surrogates and values above U+10FFFF are refused. */
size_t utf8_length(const char *s, size_t len);

/* Is the text, up to its NUL, UTF-8?  And without control characters (C0, DEL, C1)? */
bool utf8_is_valid(const char *text);
bool utf8_is_printable(const char *text);

/* Appends a character, at most U+10FFFF; the caller excludes surrogates. */
void utf8_add(struct str *out, uint32_t c);

#endif
