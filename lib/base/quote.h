/* quote.h - text that a shell or a terminal takes safely. */
#ifndef ROAR_BASE_QUOTE_H
#define ROAR_BASE_QUOTE_H

#include <stdbool.h>
#include <stddef.h>

struct str;

/* Is it valid UTF-8 without control characters?  Characters that are not seen but
 * change the order of others (U+202E) count as such, here and below. */
bool quote_is_printable(const char *text, size_t len);

/* One shell word: as it is when that is safe, in '...' otherwise, and in $'...'
 * when it holds control characters or bytes that are no UTF-8. */
void quote_shell(struct str *out, const char *word);

/* argv as a command line that a shell reads back as the same argv. */
void quote_argv(struct str *out, char *const argv[]);

/* `len` bytes with control characters and invalid UTF-8 shown as \n, \t or
 * \xHH, so that a file name cannot drive the terminal. */
void quote_printable(struct str *out, const char *text, size_t len);

/* The same for a name of a file, with \\ for a backslash: two names never look the
 * same.  Commands keep their backslashes, which a shell has to read. */
void quote_name(struct str *out, const char *name, size_t len);

/* As quote_printable(), cut to `width` columns with "..." (counting one per character). */
void quote_printable_cut(struct str *out, const char *text, size_t width);

/* For terminals that do not take UTF-8: from now on quote_printable() and
 * quote_printable_cut() show every byte from 0x80 on as \xHH.  A switch of the
 * whole process, off at first; set it before there are threads.  Words for a
 * shell and JSON are not text for a terminal and stay as they are. */
void quote_set_ascii(bool on);

#endif
