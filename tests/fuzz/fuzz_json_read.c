/* fuzz_json_read.c - any bytes as an object that somebody sent.
 *
 * A value that is found lies within the text; what is read of it as a string is UTF-8 without a
 * NUL, and what the writer makes of that is the same again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool promise)
{
	if (!promise)
		abort();
}

/* By the writer and back. */
static void check_string(const struct str *s)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	CLEANUP(str_release) struct str again = STR_INIT;
	struct json j = json_writer(&text, false);
	struct json_value v;

	require(strlen(str_cstr(s)) == s->len);
	json_put_object(&j);
	json_put_key(&j, "name");
	json_put_string(&j, str_cstr(s));
	json_end(&j);
	require(json_member(text.data, text.len, "name", &v) == 1);
	require(json_read_string(&v, &again) == 0);
	require(strcmp(str_cstr(&again), str_cstr(s)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *text = (const char *)data;
	CLEANUP(str_release) struct str s = STR_INIT;
	struct json_value v;
	int64_t n;

	if (json_member(text, len, "name", &v) != 1)
		return 0;
	require(v.len > 0 && v.text > text && v.text + v.len < text + len);
	(void)json_read_int(&v, &n);
	if (json_read_string(&v, &s) == 0)
		check_string(&s);
	return 0;
}
