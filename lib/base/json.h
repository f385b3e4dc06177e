/* json.h - a JSON writer.
 *
 * Appends to a str; commas, colons and indentation come by themselves.  Calls
 * nest as the document does: json_put_object(), json_put_key(), a value, json_end().
 *
 * File names are bytes, JSON strings are Unicode.  A byte that is not valid UTF-8 becomes
 * U+FFFD, which every reader accepts.  All bytes of such a string are added in hexadecimal,
 * so that no name is lost:
 *
 *	"path": "a\ufffd", "path_bytes": "61ff"	after a key
 *	{"text": "a\ufffd", "bytes": "61ff"}		as an item of an array
 *
 * This is not possible for a key, nor for a string that is the whole document. */
#ifndef ROAR_BASE_JSON_H
#define ROAR_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str;

enum { JSON_DEPTH_MAX = 32 };

struct json {
	struct str *out;
	bool pretty; /* newlines and two spaces per level */
	const char *key; /* just written: the next value belongs to it */
	int depth;
	char closer[JSON_DEPTH_MAX]; /* '}' or ']' of each open level */
	bool filled[JSON_DEPTH_MAX]; /* the level has an element */
};

/* A writer that appends to `out`. */
struct json json_writer(struct str *out, bool pretty);

void json_put_object(struct json *j);
void json_put_array(struct json *j);
void json_end(struct json *j); /* closes the innermost object or array */

void json_put_key(struct json *j, const char *key);

void json_put_bytes(struct json *j, const char *text, size_t len);
void json_put_string(struct json *j, const char *text); /* NULL writes null */
void json_put_int(struct json *j, int64_t value);
void json_put_double(struct json *j, double value);
void json_put_bool(struct json *j, bool value);
void json_put_null(struct json *j);
/* `text` is JSON already. */
void json_put_raw(struct json *j, const char *text, size_t len);

#endif
