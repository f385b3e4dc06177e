/* argv_json.c - see argv_json.h */
#include "run/argv_json.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hex.h"
#include "base/json.h"
#include "base/pool.h"
#include "base/str.h"

/* Linux takes 6 MiB of arguments, and no byte needs more than 8 here. */
enum { ARGV_JSON_MAX = 64 << 20 };

void argv_json_encode(char *const argv[], struct str *out)
{
	struct json j = json_writer(out, false);

	json_put_array(&j);
	for (size_t i = 0; argv[i]; i++)
		json_put_string(&j, argv[i]);
	json_end(&j);
}

/* Pairs of hexadecimal digits, in place. */
static int decode_hex(char *text)
{
	char *to = text;

	for (; *text; text += 2) {
		int c = hex_byte(text);

		if (c <= 0)
			return -EBADMSG;
		*to++ = (char)c;
	}
	*to = '\0';
	return 0;
}

/* A string, or {"text": "...", "bytes": "..."} if it is not UTF-8 (json.h). */
static int decode_argument(struct pool *pool, const json_t *value,
			   char **ret_arg)
{
	const json_t *bytes = json_object_get(value, "bytes");
	const char *text = json_string_value(bytes ? bytes : value);

	if (!text)
		return -EBADMSG;
	*ret_arg = pool_strdup(pool, text);
	if (!*ret_arg)
		return -ENOMEM;
	return bytes ? decode_hex(*ret_arg) : 0;
}

int argv_json_decode(struct pool *pool, const char *text, char ***ret_argv,
		     size_t *ret_n)
{
	CLEANUP(json_decrefp) json_t *array = NULL;
	json_error_t error;
	char **argv;
	size_t n;

	if (strlen(text) > ARGV_JSON_MAX)
		return -EBADMSG;
	array = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (!array && json_error_code(&error) == json_error_out_of_memory)
		return -ENOMEM;
	if (!json_is_array(array))
		return -EBADMSG;
	n = json_array_size(array);
	argv = pool_zalloc(pool, (n + 1) * sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		int r = decode_argument(pool, json_array_get(array, i),
					&argv[i]);

		if (r < 0)
			return r;
	}
	*ret_argv = argv;
	*ret_n = n;
	return 0;
}
