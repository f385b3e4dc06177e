/* json.c - see json.h */
#include "base/json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "base/str.h"

struct json json_writer(struct str *out, bool pretty)
{
	return (struct json){ .out = out, .pretty = pretty };
}

static void newline(struct json *j)
{
	if (!j->pretty)
		return;
	str_addc(j->out, '\n');
	str_pad(j->out, ' ', (size_t)j->depth * 2);
}

/* What has to stand before the next element of the current level. */
static void separate(struct json *j)
{
	if (j->after_key) {
		j->after_key = false;
		return;
	}
	if (!j->depth)
		return;
	if (j->filled[j->depth - 1])
		str_addc(j->out, ',');
	j->filled[j->depth - 1] = true;
	newline(j);
}

static void open_level(struct json *j, char opener, char closer)
{
	separate(j);
	assert(j->depth < JSON_DEPTH_MAX);
	str_addc(j->out, opener);
	j->closer[j->depth] = closer;
	j->filled[j->depth] = false;
	j->depth++;
}

void json_object(struct json *j)
{
	open_level(j, '{', '}');
}

void json_array(struct json *j)
{
	open_level(j, '[', ']');
}

void json_end(struct json *j)
{
	assert(j->depth > 0 && !j->after_key);
	j->depth--;
	if (j->filled[j->depth])
		newline(j);
	str_addc(j->out, j->closer[j->depth]);
}

static void add_char(struct str *out, const char *s, size_t n)
{
	unsigned char c = (unsigned char)s[0];

	if (!n)
		str_addf(out, "\\udc%02x", c);
	else if (c == '"' || c == '\\')
		str_addf(out, "\\%c", c);
	else if (c == '\n')
		str_adds(out, "\\n");
	else if (c == '\t')
		str_adds(out, "\\t");
	else if (c < 0x20 || c == 0x7f)
		str_addf(out, "\\u%04x", c);
	else
		str_add(out, s, n);
}

static void add_text(struct str *out, const char *text, size_t len)
{
	str_addc(out, '"');
	for (size_t i = 0; i < len;) {
		size_t n = utf8_length(text + i, len - i);

		add_char(out, text + i, n);
		i += n ? n : 1;
	}
	str_addc(out, '"');
}

void json_key(struct json *j, const char *key)
{
	assert(j->depth && !j->after_key);
	separate(j);
	add_text(j->out, key, strlen(key));
	str_adds(j->out, j->pretty ? ": " : ":");
	j->after_key = true;
}

void json_bytes(struct json *j, const char *text, size_t len)
{
	separate(j);
	add_text(j->out, text, len);
}

void json_string(struct json *j, const char *text)
{
	if (text)
		json_bytes(j, text, strlen(text));
	else
		json_null(j);
}

void json_int(struct json *j, int64_t value)
{
	separate(j);
	str_addf(j->out, "%lld", (long long)value);
}

void json_double(struct json *j, double value)
{
	char text[32];

	if (!isfinite(value)) {
		json_null(j);
		return;
	}
	separate(j);
	/* The shorter form where it means the same number. */
	(void)snprintf(text, sizeof(text), "%.15g", value);
	if (strtod(text, NULL) != value)
		(void)snprintf(text, sizeof(text), "%.17g", value);
	str_adds(j->out, text);
}

void json_bool(struct json *j, bool value)
{
	separate(j);
	str_adds(j->out, value ? "true" : "false");
}

void json_null(struct json *j)
{
	separate(j);
	str_adds(j->out, "null");
}
