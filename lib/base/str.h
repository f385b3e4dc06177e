/* str.h - a growing byte string.
 *
 * Always NUL-terminated once something was added; may have any bytes; has its length.
 * Appending need not be checked call by call: after the first failed allocation, later
 * additions do nothing, and str_error() reports it at the end.  A string belongs to one
 * thread. */
#ifndef ROAR_BASE_STR_H
#define ROAR_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct str {
	char *data; /* NULL until something is added */
	size_t len; /* bytes without the NUL */
	size_t cap; /* bytes allocated */
	bool failed; /* an allocation failed; content is truncated */
};

#define STR_INIT ((struct str){ 0 })

/* Frees the content; the string is empty and usable again. */
void str_release(struct str *s);

/* Removes the content, keeps the memory. */
void str_clear(struct str *s);

/* 0, or -ENOMEM when any addition since the last clear failed. */
int str_error(const struct str *s);

/* The content as a C string; "" when nothing was added. */
const char *str_cstr(const struct str *s);

/* Makes room for `extra` more bytes.  Returns 0 or -ENOMEM. */
int str_reserve(struct str *s, size_t extra);

void str_add(struct str *s, const void *data, size_t len);
void str_adds(struct str *s, const char *text);
void str_addc(struct str *s, char c);
void str_pad(struct str *s, char c, size_t n); /* `n` times `c` */
void str_addf(struct str *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void str_addv(struct str *s, const char *fmt, va_list ap);

/* Transfers the buffer to the caller as a malloc()ed C string; NULL if anything failed. */
char *str_take(struct str *s);

#endif
