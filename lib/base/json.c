/* json.c - see json.h */
#include "base/json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"

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
	if (j->key) {
		j->key = NULL;
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

void json_put_object(struct json *j)
{
	open_level(j, '{', '}');
}

void json_put_array(struct json *j)
{
	open_level(j, '[', ']');
}

void json_end(struct json *j)
{
	assert(j->depth > 0 && !j->key);
	j->depth--;
	if (j->filled[j->depth])
		newline(j);
	str_addc(j->out, j->closer[j->depth]);
}

static void add_char(struct str *out, const char *s, size_t n)
{
	unsigned char c = (unsigned char)s[0];

	if (!n)
		str_adds(out, "\\ufffd");
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

/* How many bytes can stand as they are: most texts are nothing else. */
static size_t plain_length(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && text[n] >= ' ' && text[n] < 0x7f && text[n] != '"' &&
	       text[n] != '\\')
		n++;
	return n;
}

static void add_text(struct str *out, const char *text, size_t len)
{
	str_addc(out, '"');
	for (size_t i = 0; i < len;) {
		size_t n = plain_length(text + i, len - i);

		if (n) {
			str_add(out, text + i, n);
			i += n;
			continue;
		}
		n = utf8_length(text + i, len - i);
		add_char(out, text + i, n);
		i += n ? n : 1;
	}
	str_addc(out, '"');
}

void json_put_key(struct json *j, const char *key)
{
	assert(j->depth && !j->key);
	separate(j);
	add_text(j->out, key, strlen(key));
	str_adds(j->out, j->pretty ? ": " : ":");
	j->key = key;
}

static bool is_utf8(const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = utf8_length(text + i, len - i);

		if (!n)
			return false;
		i += n;
	}
	return true;
}

static void add_hex(struct json *j, const char *text, size_t len)
{
	separate(j);
	str_addc(j->out, '"');
	for (size_t i = 0; i < len; i++)
		str_addf(j->out, "%02x", (unsigned char)text[i]);
	str_addc(j->out, '"');
}

/* "KEY": "...", "KEY_bytes": "..."; the key is written already. */
static void add_odd_value(struct json *j, const char *text, size_t len)
{
	struct str name = STR_INIT;

	str_addf(&name, "%s_bytes", j->key);
	separate(j);
	add_text(j->out, text, len);
	json_put_key(j, str_cstr(&name));
	add_hex(j, text, len);
	j->out->failed |= name.failed;
	str_release(&name);
}

static void add_odd_item(struct json *j, const char *text, size_t len)
{
	json_put_object(j);
	json_put_key(j, "text");
	separate(j);
	add_text(j->out, text, len);
	json_put_key(j, "bytes");
	add_hex(j, text, len);
	json_end(j);
}

void json_put_bytes(struct json *j, const char *text, size_t len)
{
	bool odd = j->depth && !is_utf8(text, len);

	if (odd && j->key) {
		add_odd_value(j, text, len);
	} else if (odd) {
		add_odd_item(j, text, len);
	} else {
		separate(j);
		add_text(j->out, text, len);
	}
}

void json_put_string(struct json *j, const char *text)
{
	if (text)
		json_put_bytes(j, text, strlen(text));
	else
		json_put_null(j);
}

void json_put_int(struct json *j, int64_t value)
{
	uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
	char text[24], *at = text + sizeof(text);

	/* Without printf(), which takes longer than all else of a list of numbers. */
	do
		*--at = (char)('0' + left % 10);
	while ((left /= 10) != 0);
	if (value < 0)
		*--at = '-';
	separate(j);
	str_add(j->out, at, (size_t)(text + sizeof(text) - at));
}

void json_put_double(struct json *j, double value)
{
	char text[32];

	if (!isfinite(value)) {
		json_put_null(j);
		return;
	}
	separate(j);
	/* The shorter form where it means the same number. */
	(void)snprintf(text, sizeof(text), "%.15g", value);
	if (strtod(text, NULL) != value)
		(void)snprintf(text, sizeof(text), "%.17g", value);
	str_adds(j->out, text);
}

void json_put_bool(struct json *j, bool value)
{
	separate(j);
	str_adds(j->out, value ? "true" : "false");
}

void json_put_raw(struct json *j, const char *text, size_t len)
{
	separate(j);
	str_add(j->out, text, len);
}

void json_put_null(struct json *j)
{
	separate(j);
	str_adds(j->out, "null");
}
