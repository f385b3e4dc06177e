/* store_artifact.c - artifacts by number and by the beginning of a digest. */
#include "store/store_internal.h"

#include <errno.h>
#include <string.h>

#include "base/pool.h"

int store_artifact(struct store *s, struct pool *pool, int64_t id,
		   struct store_artifact *ret, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct store_artifact a = { 0 };
	int r = statement_open(s, SQL_ARTIFACT_GET, &q, err);

	if (r < 0)
		return r;
	statement_int(&q, id);
	while ((r = statement_next(&q, err)) > 0) {
		a.id = column_int(&q);
		a.size = column_int(&q);
		a.first_seen_ns = column_int(&q);
		a.first_path = column_text(&q, pool);
		column_digests(&q, true, &a.digests);
	}
	if (r == 0 && !a.id)
		return error_set(err, -ENOENT, "'%s' has no artifact %lld",
				 s->path, (long long)id);
	if (r == 0)
		*ret = a;
	return r;
}

int store_artifact_known(struct store *s, const uint8_t blake3[BLAKE3_LEN],
			 bool *ret, struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	int64_t id = 0;
	int r = statement_open(s, SQL_ARTIFACT_FIND, &q, err);

	if (r < 0)
		return r;
	statement_blob(&q, blake3, BLAKE3_LEN);
	r = statement_one(&q, 0, &id, err);
	*ret = id != 0;
	return r;
}

/* Digests that begin with `n_digits` hex digits are those from `low` up to,
 * but without, the same with its last digit counted up.  A prefix of nothing
 * but f has no such end; then a blob longer than any digest is the end. */
struct range {
	uint8_t low[DIGEST_MAX];
	uint8_t high[DIGEST_MAX + 1];
	size_t low_len;
	size_t high_len;
};

static int parse_prefix(const char *hex, struct range *ret,
			struct roar_error *err)
{
	int n_digits = digest_parse_hex(hex, ret->low);
	unsigned carry;

	if (n_digits <= 0)
		return error_set(
			err, -EINVAL,
			"'%.130s' is not a digest: use 1 to %d hex digits", hex,
			2 * DIGEST_MAX);
	ret->low_len = ((size_t)n_digits + 1) / 2;
	ret->high_len = ret->low_len;
	memcpy(ret->high, ret->low, ret->low_len);

	carry = n_digits % 2 ? 0x10 : 0x01;
	for (size_t i = ret->high_len; i-- > 0 && carry;) {
		carry += ret->high[i];
		ret->high[i] = (uint8_t)carry;
		carry >>= 8;
	}
	if (carry) {
		memset(ret->high, 0xff, sizeof(ret->high));
		ret->high_len = sizeof(ret->high);
	}
	return 0;
}

int store_artifacts_by_prefix(struct store *s, struct pool *pool,
			      const char *hex, size_t limit,
			      struct store_artifact **ret, size_t *ret_n,
			      struct roar_error *err)
{
	CLEANUP(statement_close) struct statement q = { 0 };
	struct rows rows = { .pool = pool, .size = sizeof(**ret) };
	struct range range;
	int r = parse_prefix(hex, &range, err);

	if (r == 0)
		r = statement_open(s, SQL_ARTIFACT_PREFIX, &q, err);
	if (r < 0)
		return r;
	statement_blob(&q, range.low, range.low_len);
	statement_blob(&q, range.high, range.high_len);
	statement_int(&q, limit > INT64_MAX ? INT64_MAX : (int64_t)limit);
	while ((r = statement_next(&q, err)) > 0) {
		struct store_artifact *a = rows_push(&rows);

		if (!a)
			return error_set(err, -ENOMEM, "out of memory");
		r = store_artifact(s, pool, column_int(&q), a, err);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	*ret = (struct store_artifact *)rows.data;
	*ret_n = rows.n;
	return 0;
}
