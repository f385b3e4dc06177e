/* str.c - see str.h */
#include "base/str.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void str_release(struct str *s)
{
	free(s->data);
	*s = STR_INIT;
}

void str_clear(struct str *s)
{
	s->len = 0;
	s->failed = false;
	if (s->data)
		s->data[0] = '\0';
}

int str_error(const struct str *s)
{
	return s->failed ? -ENOMEM : 0;
}

const char *str_cstr(const struct str *s)
{
	return s->data ? s->data : "";
}

int str_reserve(struct str *s, size_t extra)
{
	size_t cap = s->cap ? s->cap : 64;
	char *grown;

	if (s->failed || extra > SIZE_MAX / 4 - s->len)
		goto fail;
	if (s->len + extra + 1 <= s->cap)
		return 0;
	while (cap < s->len + extra + 1)
		cap *= 2;
	grown = realloc(s->data, cap);
	if (!grown)
		goto fail;
	if (!s->data)
		grown[0] = '\0';
	s->data = grown;
	s->cap = cap;
	return 0;
fail:
	s->failed = true;
	return -ENOMEM;
}

void str_add(struct str *s, const void *data, size_t len)
{
	assert(data || len == 0);
	if (str_reserve(s, len) < 0)
		return;
	if (len)
		memcpy(s->data + s->len, data, len);
	s->len += len;
	s->data[s->len] = '\0';
}

void str_adds(struct str *s, const char *text)
{
	str_add(s, text, strlen(text));
}

void str_addc(struct str *s, char c)
{
	str_add(s, &c, 1);
}

void str_pad(struct str *s, char c, size_t n)
{
	if (str_reserve(s, n) < 0)
		return;
	memset(s->data + s->len, c, n);
	s->len += n;
	s->data[s->len] = '\0';
}

void str_addv(struct str *s, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0 || str_reserve(s, (size_t)n) < 0) {
		s->failed = true;
		return;
	}
	(void)vsnprintf(s->data + s->len, (size_t)n + 1, fmt, ap);
	s->len += (size_t)n;
}

void str_addf(struct str *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	str_addv(s, fmt, ap);
	va_end(ap);
}

char *str_take(struct str *s)
{
	char *data;

	if (!s->data)
		str_add(s, "", 0);
	if (s->failed) {
		str_release(s);
		return NULL;
	}
	data = s->data;
	*s = STR_INIT;
	return data;
}
