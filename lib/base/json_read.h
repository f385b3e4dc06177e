/* json_read.h - members of a JSON object that somebody sent.
 *
 * The text is RFC 8259's and valid UTF-8, JSON_DEPTH_MAX levels deep at most; it is checked
 * whole before anything of it is given.  Values are parts of the text: they are good for as long
 * as that is. */
#ifndef ROAR_BASE_JSON_READ_H
#define ROAR_BASE_JSON_READ_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/str.h"

struct json_value {
	const char *text; /* as it stands there, without blanks around it */
	size_t len;
};

/* The member of that name; of several the last.  Returns 1, 0 when there is none, or -EBADMSG
 * when the text is no JSON object. */
int json_member(const char *text, size_t len, const char *name,
		struct json_value *ret);

/* Appends the characters of a string.  -EINVAL: it is none, or has a NUL in it. */
int json_read_string(const struct json_value *v, struct str *ret);
/* -EINVAL: it is no whole number of 64 bits. */
int json_read_int(const struct json_value *v, int64_t *ret);

#endif
