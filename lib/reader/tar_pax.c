/* tar_pax.c - see tar_pax.h */
#include "reader/tar_pax.h"

#include <errno.h>
#include <string.h>

struct text {
	const char *data;
	size_t len;
};

static bool begins(struct text t, const char *with)
{
	size_t len = strlen(with);

	return t.len >= len && memcmp(t.data, with, len) == 0;
}

static bool is(struct text t, const char *word)
{
	return t.len == strlen(word) && begins(t, word);
}

/* Digits up to the end of the text, none of them missing. */
static bool read_decimal(struct text t, uint64_t *ret)
{
	uint64_t value = 0;

	if (!t.len)
		return false;
	for (size_t i = 0; i < t.len; i++) {
		unsigned digit = (unsigned)(t.data[i] - '0');

		if (digit > 9 || value > (uint64_t)(INT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*ret = value;
	return true;
}

static int take(struct text key, struct text value, struct tar_pax *pax)
{
	if (is(key, "path")) {
		if (!value.len || memchr(value.data, '\0', value.len))
			return -EBADMSG;
		pax->path = value.data;
		pax->path_len = value.len;
	} else if (is(key, "size")) {
		if (!read_decimal(value, &pax->size))
			return -EBADMSG;
		pax->has_size = true;
	} else if (begins(key, "GNU.sparse.") || is(key, "SCHILY.realsize")) {
		pax->is_sparse = true;
	}
	return 0;
}

/* Cuts the first record off: its length counts itself, the space and the newline. */
static bool cut(struct text *rest, struct text *ret_record)
{
	const char *space = memchr(rest->data, ' ', rest->len);
	size_t digits = space ? (size_t)(space - rest->data) : 0;
	uint64_t len;

	if (!space ||
	    !read_decimal((struct text){ rest->data, digits }, &len) ||
	    len > rest->len || len < digits + 2 || rest->data[len - 1] != '\n')
		return false;
	*ret_record = (struct text){ space + 1, (size_t)len - digits - 2 };
	*rest = (struct text){ rest->data + len, rest->len - (size_t)len };
	return true;
}

int tar_pax_read(const char *data, size_t len, struct tar_pax *pax)
{
	struct text rest = { data, len };
	struct text record;

	while (rest.len) {
		const char *equals;
		struct text key;
		int r;

		if (!cut(&rest, &record))
			return -EBADMSG;
		equals = memchr(record.data, '=', record.len);
		if (!equals)
			return -EBADMSG;
		key = (struct text){ record.data,
				     (size_t)(equals - record.data) };
		r = take(key,
			 (struct text){ equals + 1, record.len - key.len - 1 },
			 pax);
		if (r < 0)
			return r;
	}
	return 0;
}
