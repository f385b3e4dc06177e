/* quote.h - makes text safe for a shell or a terminal. */
#ifndef ROAR_BASE_QUOTE_H
#define ROAR_BASE_QUOTE_H

#include <stdbool.h>
#include <stddef.h>

struct str;

/* Is it valid UTF-8 without control characters?  Invisible characters that reorder others
 * (U+202E) count as control characters, here and below. */
bool quote_is_printable(const char *text, size_t len);

/* One shell word: unchanged if that is safe, otherwise in '...', or in $'...' if it has
 * control characters or invalid UTF-8. */
void quote_shell(struct str *out, const char *word);

/* argv as a command line that a shell reads back as the same argv. */
void quote_argv(struct str *out, char *const argv[]);

/* `len` bytes with control characters and invalid UTF-8 as \n, \t or \xHH, so that a file
 * name cannot control the terminal. */
void quote_printable(struct str *out, const char *text, size_t len);

/* The same for a file name, with \\ for a backslash, so that different names never look the
 * same.  Commands keep their backslashes, which a shell has to read. */
void quote_name(struct str *out, const char *name, size_t len);

/* As quote_printable(), cut to `width` columns with "..." (counting one per character). */
void quote_printable_cut(struct str *out, const char *text, size_t width);

/* For terminals without UTF-8: from now on quote_printable() and quote_printable_cut()
 * print every byte from 0x80 on as \xHH.  A setting of the whole process, off by default;
 * set it before starting threads.  Shell words and JSON are not affected. */
void quote_set_ascii(bool on);

#endif
