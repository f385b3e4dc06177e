/* utf8.h - characters as bytes. */
#ifndef ROAR_BASE_UTF8_H
#define ROAR_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str;

/* Length of the valid UTF-8 character at `s` (at most `len` bytes), 0 when it
 * is none: overlong forms, surrogates and values past U+10FFFF are refused. */
size_t utf8_length(const char *s, size_t len);

/* Is the text, up to its NUL, UTF-8?  And without control characters (C0, DEL, C1)? */
bool utf8_is_valid(const char *text);
bool utf8_is_printable(const char *text);

/* Appends a character, which is one: no half of a pair, U+10FFFF at most. */
void utf8_add(struct str *out, uint32_t c);

#endif
