/* cache.c - digests of files that have not changed since they were hashed.
 *
 * One row per (device, inode).  It answers only for exactly the stamp it was
 * made for; another stamp of the same file replaces it. */
#include "store/store_internal.h"

#include <string.h>

static bool same_stamp(struct query *q, const struct stamp *stamp)
{
	int64_t size = column_int(q);
	int64_t mtime_ns = column_int(q);
	int64_t ctime_ns = column_int(q);

	return size == (int64_t)stamp->size && mtime_ns == stamp->mtime_ns &&
	       ctime_ns == stamp->ctime_ns;
}

bool store_cache_get(struct store *s, const struct stamp *stamp,
		     digest_set want, struct digests *ret)
{
	CLEANUP(query_close) struct query q = { 0 };
	struct digests d = { 0 };

	if (query_open(s, SQL_CACHE_GET, &q, NULL) < 0)
		return false;
	query_int(&q, (int64_t)stamp->dev);
	query_int(&q, (int64_t)stamp->ino);
	if (query_next(&q, NULL) <= 0 || !same_stamp(&q, stamp))
		return false;
	column_digests(&q, true, &d);
	if ((d.have & want) != want)
		return false;
	*ret = d;
	return true;
}

int store_cache_put(struct store *s, const struct stamp *stamp,
		    int64_t taken_ns, const struct digests *digests,
		    struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	int r = store_must_write(s, err);

	if (r < 0)
		return r;
	if (!stamp_exists(stamp) || stamp_is_racy(stamp, taken_ns) ||
	    !digests->have)
		return 0;
	r = query_open(s, SQL_CACHE_PUT, &q, err);
	if (r < 0)
		return r;
	query_int(&q, (int64_t)stamp->dev);
	query_int(&q, (int64_t)stamp->ino);
	query_int(&q, (int64_t)stamp->size);
	query_int(&q, stamp->mtime_ns);
	query_int(&q, stamp->ctime_ns);
	query_digests(&q, true, digests);
	s->cache_written = true;
	return query_run(&q, err);
}

/* Ids grow with every write, so the newest `cache_max` ids hold at most that
 * many rows, and a commit drops about as many rows as it added. */
int store_cache_trim(struct store *s, struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	int r = query_open(s, SQL_CACHE_TRIM, &q, err);

	if (r < 0)
		return r;
	query_int(&q, s->cache_max);
	return query_run(&q, err);
}
