/* portable_row.c - one line of a portable record, from a struct and into one. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hex.h"
#include "base/json.h"
#include "base/pool.h"
#include "base/str.h"
#include "base/tri.h"
#include "portable/portable_format.h"

enum { NAME_MAX_BYTES = 64 }; /* of a field */

/* ---- encoding ---- */

static bool is_zero(const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i])
			return false;
	return true;
}

static int64_t number_of(const struct portable_field *f, const void *at)
{
	switch ((enum portable_type)f->type) {
	case PORTABLE_INT:
		return *(const int *)at;
	case PORTABLE_UINT32:
		return *(const uint32_t *)at;
	case PORTABLE_UINT8:
		return *(const uint8_t *)at;
	default:
		return *(const int64_t *)at;
	}
}

static void encode_digests(struct json *j, const struct digests *d)
{
	char hex[2 * DIGEST_MAX + 1];

	json_put_object(j);
	for (int algo = 0; algo < DIGEST_ALGO_END; algo++) {
		const uint8_t *bytes = digests_get(d, algo);

		if (!bytes)
			continue;
		digest_hex(hex, bytes, digest_algo_len(algo));
		json_put_key(j, digest_algo_name(algo));
		json_put_string(j, hex);
	}
	json_end(j);
}

/* Is the value the one that an absent field has? */
static bool is_absent(const struct portable_field *f, const void *at)
{
	switch ((enum portable_type)f->type) {
	case PORTABLE_COUNT:
		return number_of(f, at) < 0;
	case PORTABLE_BOOL:
		return !*(const bool *)at;
	case PORTABLE_TRI:
		return *(const enum tri *)at == TRI_UNKNOWN;
	case PORTABLE_TEXT:
		return !*(const char *const *)at || !**(const char *const *)at;
	case PORTABLE_UID:
		return !*(const char *)at;
	case PORTABLE_BYTES:
		return is_zero(at, f->size);
	case PORTABLE_DIGESTS:
		return !((const struct digests *)at)->have;
	default:
		return number_of(f, at) == 0;
	}
}

static void encode_field(struct json *j, const struct portable_field *f,
			 const void *at)
{
	char hex[2 * DIGEST_MAX + 1];

	if (is_absent(f, at))
		return;
	json_put_key(j, f->name);
	switch ((enum portable_type)f->type) {
	case PORTABLE_BOOL:
		json_put_bool(j, true);
		break;
	case PORTABLE_TRI:
		json_put_bool(j, *(const enum tri *)at == TRI_YES);
		break;
	case PORTABLE_TEXT:
		json_put_string(j, *(const char *const *)at);
		break;
	case PORTABLE_UID:
		json_put_string(j, at);
		break;
	case PORTABLE_BYTES:
		digest_hex(hex, at, f->size);
		json_put_string(j, hex);
		break;
	case PORTABLE_DIGESTS:
		encode_digests(j, at);
		break;
	default:
		json_put_int(j, number_of(f, at));
		break;
	}
}

void portable_row_encode(struct str *out, enum portable_kind kind,
			 const void *row)
{
	const struct portable_table *t = &portable_tables[kind];
	struct json j = json_writer(out, false);

	json_put_object(&j);
	json_put_key(&j, t->name);
	json_put_object(&j);
	for (const struct portable_field *f = t->fields; f->name; f++)
		encode_field(&j, f, (const char *)row + f->offset);
	json_end(&j);
	json_end(&j);
	str_addc(out, '\n');
}

/* ---- decoding ---- */

static int refuse(const struct portable_field *f, const char *what,
		  struct roar_error *err)
{
	return error_set(err, -EINVAL, "field '%s' is not %s", f->name, what);
}

static int decode_number(const struct portable_field *f, const json_t *value,
			 void *at, struct roar_error *err)
{
	bool absent_count = !value && f->type == PORTABLE_COUNT;
	int64_t n = absent_count ? -1 : json_integer_value(value);

	if (value && !json_is_integer(value))
		return refuse(f, "an integer", err);
	if (!absent_count && (n < f->min || n > f->max))
		return error_set(err, -EINVAL,
				 "field '%s' is not a number from %lld to %lld",
				 f->name, (long long)f->min, (long long)f->max);
	switch ((enum portable_type)f->type) {
	case PORTABLE_INT:
		*(int *)at = (int)n;
		break;
	case PORTABLE_UINT32:
		*(uint32_t *)at = (uint32_t)n;
		break;
	case PORTABLE_UINT8:
		*(uint8_t *)at = (uint8_t)n;
		break;
	default:
		*(int64_t *)at = n;
		break;
	}
	return 0;
}

/* Exactly `n` bytes of hex digits. */
static bool decode_hex(const char *text, size_t len, uint8_t *ret, size_t n)
{
	if (!text || len != 2 * n)
		return false;
	for (size_t i = 0; i < n; i++) {
		int byte = hex_byte(text + 2 * i);

		if (byte < 0)
			return false;
		ret[i] = (uint8_t)byte;
	}
	return true;
}

/* All bytes of a text that is not UTF-8; no NUL (json.h). */
static int decode_raw(const struct portable_field *f, const json_t *value,
		      struct pool *pool, const char **ret,
		      struct roar_error *err)
{
	size_t len = json_string_length(value);
	char *text = pool_alloc(pool, len / 2 + 1);

	if (!text)
		return error_set(err, -ENOMEM, "out of memory");
	if (!decode_hex(json_string_value(value), len, (uint8_t *)text,
			len / 2) ||
	    memchr(text, '\0', len / 2))
		return refuse(f, "text (its bytes are not hex digits)", err);
	text[len / 2] = '\0';
	*ret = text;
	return 0;
}

static int decode_text(const struct portable_field *f, const json_t *object,
		       const json_t *value, struct pool *pool, const char **ret,
		       struct roar_error *err)
{
	char name[NAME_MAX_BYTES];
	const json_t *raw;

	*ret = "";
	if (!value)
		return 0;
	if (!json_is_string(value))
		return refuse(f, "text", err);
	(void)snprintf(name, sizeof(name), "%s_bytes", f->name);
	raw = json_object_get(object, name);
	if (raw)
		return decode_raw(f, raw, pool, ret, err);
	*ret = pool_strdup(pool, json_string_value(value));
	return *ret ? 0 : error_set(err, -ENOMEM, "out of memory");
}

static int decode_uid(const struct portable_field *f, const json_t *value,
		      char *ret, struct roar_error *err)
{
	const char *text = json_string_value(value);

	memset(ret, 0, f->size + 1U);
	if (!value)
		return 0;
	if (json_string_length(value) != f->size ||
	    strspn(text, "0123456789abcdef") != f->size)
		return refuse(f, "a UID", err);
	memcpy(ret, text, f->size);
	return 0;
}

static int decode_bytes(const struct portable_field *f, const json_t *value,
			uint8_t *ret, struct roar_error *err)
{
	memset(ret, 0, f->size);
	if (value && !decode_hex(json_string_value(value),
				 json_string_length(value), ret, f->size))
		return refuse(f, "a hash", err);
	return 0;
}

static int decode_digests(const struct portable_field *f, json_t *value,
			  struct digests *ret, struct roar_error *err)
{
	const char *name;
	json_t *hex;

	*ret = (struct digests){ 0 };
	if (value && !json_is_object(value))
		return refuse(f, "an object of digests", err);
	json_object_foreach(value, name, hex)
	{
		int algo = digest_algo_parse(name);

		if (algo < 0 ||
		    !decode_hex(json_string_value(hex), json_string_length(hex),
				digests_slot(ret, algo), digest_algo_len(algo)))
			return refuse(f, "an object of known digests", err);
		ret->have |= (digest_set)1 << algo;
	}
	if (ret->have && !(ret->have & DIGEST_SET_BLAKE3))
		return refuse(f, "a set of digests with BLAKE3", err);
	return 0;
}

static int decode_bool(const struct portable_field *f, const json_t *value,
		       void *at, struct roar_error *err)
{
	if (value && !json_is_boolean(value))
		return refuse(f, "true or false", err);
	if (f->type == PORTABLE_BOOL)
		*(bool *)at = json_is_true(value);
	else
		*(enum tri *)at = !value	      ? TRI_UNKNOWN :
				  json_is_true(value) ? TRI_YES :
							TRI_NO;
	return 0;
}

static int decode_field(const struct portable_field *f, const json_t *object,
			struct pool *pool, void *at, struct roar_error *err)
{
	json_t *value = json_object_get(object, f->name);

	switch ((enum portable_type)f->type) {
	case PORTABLE_BOOL:
	case PORTABLE_TRI:
		return decode_bool(f, value, at, err);
	case PORTABLE_TEXT:
		return decode_text(f, object, value, pool, at, err);
	case PORTABLE_UID:
		return decode_uid(f, value, at, err);
	case PORTABLE_BYTES:
		return decode_bytes(f, value, at, err);
	case PORTABLE_DIGESTS:
		return decode_digests(f, value, at, err);
	default:
		return decode_number(f, value, at, err);
	}
}

int portable_row_decode(const json_t *value, enum portable_kind kind,
			struct pool *pool, union portable_row *ret,
			struct roar_error *err)
{
	const struct portable_field *f = portable_tables[kind].fields;
	int r = 0;

	if (!json_is_object(value))
		return error_set(err, -EINVAL, "'%s' is not an object",
				 portable_tables[kind].name);
	memset(ret, 0, sizeof(*ret));
	for (; r == 0 && f->name; f++)
		r = decode_field(f, value, pool, (char *)ret + f->offset, err);
	return r;
}
