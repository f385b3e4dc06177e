/* request_target.c - see request_target.h */
#include "http/request_target.h"

#include <stdbool.h>
#include <string.h>

#include "base/hex.h"

static const char *decode(struct pool *pool, const char *text, size_t len,
			  bool plus_is_blank)
{
	char *out = pool_dup(pool, text, len);
	size_t n = 0;

	for (size_t i = 0; out && i < len; i++) {
		int c;

		if (out[i] != '%') {
			out[n++] = plus_is_blank && out[i] == '+' ? ' ' :
								    out[i];
			continue;
		}
		c = i + 2 < len ? hex_byte(out + i + 1) : -1;
		if (c <= 0)
			return NULL;
		out[n++] = (char)c;
		i += 2;
	}
	if (out)
		out[n] = '\0';
	return out;
}

/* The target from its path on. */
static const char *path_of(const char *target)
{
	const char *authority = *target == '/' ? NULL : strstr(target, "://");
	const char *path = authority ? strpbrk(authority + 3, "/?") : target;

	return path ? path : "/";
}

const char *http_target_authority(struct pool *pool, const char *target)
{
	const char *scheme_end = *target == '/' ? NULL : strstr(target, "://");

	return scheme_end ? pool_dup(pool, scheme_end + 3,
				     strcspn(scheme_end + 3, "/?")) :
			    NULL;
}

const char *http_target_path(struct pool *pool, const char *target)
{
	const char *path = path_of(target);

	return decode(pool, path, strcspn(path, "?"), false);
}

const char *http_target_query(struct pool *pool, const char *target,
			      const char *name)
{
	const char *at = strchr(path_of(target), '?');

	while (at && *at) {
		size_t len = strcspn(++at, "&");
		size_t name_len = strcspn(at, "=&");
		const char *decoded = decode(pool, at, name_len, true);

		if (decoded && strcmp(decoded, name) == 0)
			return name_len == len ?
				       "" :
				       decode(pool, at + name_len + 1,
					      len - name_len - 1, true);
		at += len;
	}
	return NULL;
}
