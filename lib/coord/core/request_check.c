/* request_check.c - whether names, texts and numbers of a request are as they must be.
 *
 * A refusal says what is wrong and never repeats what it refuses: that may be
 * megabytes, or not fit for a terminal. */
#include "coord/core/state.h"

#include <errno.h>
#include <string.h>

#include "base/id.h"
#include "base/utf8.h"

enum {
	MAX_KEY = 512,
	MAX_METADATA = 64, /* entries */
	MAX_METADATA_BYTES = 16 << 10,
};

static bool meeting_char(unsigned char b)
{
	return id_has_char(b) || b == '/' || b == ':';
}

static bool key_char(unsigned char b)
{
	return b >= 0x20 && b < 0x7f;
}

struct rule {
	const char *what;
	size_t max;
	bool (*good)(unsigned char b);
	const char *said;
};

static int check(const struct request *q, const struct rule *rule,
		 const char *name)
{
	size_t len = strlen(name);

	if (len > rule->max) {
		request_refuse(q, COORD_INVALID_ARGUMENT,
			       "%s is %zu bytes long; at most %zu are allowed",
			       rule->what, len, rule->max);
		return -EINVAL;
	}
	for (size_t i = 0; i < len; i++)
		if (!rule->good((unsigned char)name[i])) {
			request_refuse(
				q, COORD_INVALID_ARGUMENT,
				"%s has the byte 0x%02x at position %zu; allowed are %s",
				rule->what, (unsigned char)name[i], i,
				rule->said);
			return -EINVAL;
		}
	return 0;
}

static int check_some(const struct request *q, const struct rule *rule,
		      const char *name)
{
	if (*name)
		return check(q, rule, name);
	request_refuse(q, COORD_INVALID_ARGUMENT,
		       "%s is empty; give 1 to %zu characters, of %s",
		       rule->what, rule->max, rule->said);
	return -EINVAL;
}

int request_check_id(const struct request *q, const char *what, const char *id)
{
	struct rule rule = { what, ID_MAX, id_has_char, "A-Z a-z 0-9 _ . -" };

	return check_some(q, &rule, id);
}

int request_check_meeting_id(const struct request *q, const char *id)
{
	static const struct rule rule = { "the barrier's id", ID_MAX,
					  meeting_char,
					  "A-Z a-z 0-9 _ . - / :" };

	return check_some(q, &rule, id);
}

static const struct rule key_rule = { "the key", MAX_KEY, key_char,
				      "printable ASCII characters" };

int request_check_key(const struct request *q, const char *key)
{
	return check_some(q, &key_rule, key);
}

int request_check_prefix(const struct request *q, const char *prefix)
{
	return check(q, &key_rule, prefix);
}

int request_check_text(const struct request *q, const char *what,
		       const char *text, size_t max)
{
	size_t len = strlen(text);

	if (len <= max && utf8_is_printable(text))
		return 0;
	if (len > max)
		request_refuse(q, COORD_INVALID_ARGUMENT,
			       "%s is %zu bytes long; at most %zu are allowed",
			       what, len, max);
	else
		request_refuse(
			q, COORD_INVALID_ARGUMENT,
			"%s must be UTF-8 text without control characters",
			what);
	return -EINVAL;
}

int request_check_natural(const struct request *q, const char *what, int64_t n)
{
	if (n >= 0)
		return 0;
	request_refuse(q, COORD_INVALID_ARGUMENT,
		       "%s is %lld; it must not be negative", what,
		       (long long)n);
	return -EINVAL;
}

int request_check_metadata(const struct request *q, size_t n, void *entries)
{
	/* All map entries of string to string have this shape. */
	Coordinator__WorkerInfo__MetadataEntry **all = entries;
	size_t bytes = 0;

	if (n > MAX_METADATA) {
		request_refuse(
			q, COORD_INVALID_ARGUMENT,
			"metadata has %zu entries; at most %d are allowed", n,
			MAX_METADATA);
		return -EINVAL;
	}
	for (size_t i = 0; i < n; i++) {
		bytes += strlen(all[i]->key) + strlen(all[i]->value);
		if (!utf8_is_printable(all[i]->key) ||
		    !utf8_is_printable(all[i]->value))
			bytes = SIZE_MAX / 2;
		if (bytes > MAX_METADATA_BYTES)
			break;
	}
	if (bytes <= MAX_METADATA_BYTES)
		return 0;
	request_refuse(
		q, COORD_INVALID_ARGUMENT,
		"metadata must be UTF-8 text without control characters, of at most %d bytes in all",
		MAX_METADATA_BYTES);
	return -EINVAL;
}
