/* tag.c - see tag.h; tag_walk.c has the inheritance */
#include "lineage/tag.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pool.h"
#include "base/quote.h"
#include "base/str.h"

static bool is_kind(const char *text, size_t len)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyz"
				    "0123456789_.-";

	return len > 0 && len <= TAG_KIND_MAX && text[0] >= 'a' &&
	       text[0] <= 'z' && strspn(text, chars) >= len;
}

static bool is_value(const char *text, size_t len)
{
	return len > 0 && len <= TAG_VALUE_MAX && quote_is_printable(text, len);
}

/* The part of a sentence that shows the culprit. */
static int refuse(struct roar_error *err, const char *text, size_t len,
		  const char *why)
{
	CLEANUP(str_release) struct str shown = STR_INIT;

	quote_printable(&shown, text, len < 80 ? len : 80);
	if (len > 80)
		str_adds(&shown, "...");
	return error_set(err, -EINVAL, "'%s' %s", str_cstr(&shown), why);
}

int tag_parse(struct pool *pool, enum tag_action action, const char *text,
	      struct tag *ret, struct roar_error *err)
{
	size_t len = strcspn(text, "=");
	bool has_value = text[len] == '=';
	const char *value = text + len + has_value;
	struct tag tag = { .action = (uint8_t)action, .origin = TAG_USER };

	if (!is_kind(text, len))
		return refuse(
			err, text, len,
			"is not a kind of tag: use up to 64 of a-z, 0-9, '_', '.' "
			"and '-', starting with a letter");
	if (!has_value && action == TAG_ADD)
		return refuse(
			err, text, len,
			"is a kind of tag without a value: use KIND=VALUE");
	if (has_value && !is_value(value, strlen(value)))
		return refuse(
			err, text, strlen(text),
			"has an invalid value: a tag takes 1 to 256 bytes of "
			"printable text");
	tag.kind = pool_dup(pool, text, len);
	tag.value = pool_strdup(pool, value);
	if (!tag.kind || !tag.value)
		return error_set(err, -ENOMEM, "out of memory");
	*ret = tag;
	return 0;
}

bool tag_kind_is_known(const char *kind)
{
	static const char list[] = TAG_KINDS_KNOWN;
	size_t len = strlen(kind);

	for (const char *p = list; *p;) {
		size_t n = strcspn(p, ",");

		if (n == len && memcmp(p, kind, n) == 0)
			return true;
		p += n;
		p += strspn(p, ", ");
	}
	return false;
}

const char *tag_origin_name(unsigned origin)
{
	return origin == TAG_SYSTEM ? "system" : "user";
}
