/* cache.c - digests of files that have not changed since they were hashed.
 *
 * One row per (device, inode).  It answers only for exactly the stamp it was
 * made for; another stamp of the same file replaces it.
 *
 * Every write counts one, and the row keeps that number as its age, so the
 * newest `cache_max` ages belong to at most that many rows.  Finding older ones
 * means reading the whole table; that is done once in `cache_max` / SLACK
 * writes, and the table may exceed its bound by that much meanwhile. */
#include "store/store_internal.h"

#include <string.h>

enum { SLACK = 8 };

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

/* The age of the youngest row; 0 when nothing was ever written. */
static int read_age(struct store *s, int64_t *ret, struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	int r = query_open(s, SQL_CACHE_AGE, &q, err);

	return r < 0 ? r : query_one(&q, 0, ret, err);
}

/* The first write of a transaction; nobody else can count until its end. */
static int start_counting(struct store *s, struct roar_error *err)
{
	int r = read_age(s, &s->cache_start, err);

	if (r < 0)
		return r;
	s->cache_age = s->cache_start;
	s->cache_written = true;
	return 0;
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
	if (!s->cache_written)
		r = start_counting(s, err);
	if (r == 0)
		r = query_open(s, SQL_CACHE_PUT, &q, err);
	if (r < 0)
		return r;
	query_int(&q, (int64_t)stamp->dev);
	query_int(&q, (int64_t)stamp->ino);
	query_int(&q, ++s->cache_age);
	query_int(&q, (int64_t)stamp->size);
	query_int(&q, stamp->mtime_ns);
	query_int(&q, stamp->ctime_ns);
	query_digests(&q, true, digests);
	return query_run(&q, err);
}

static int drop_older(struct store *s, int64_t age, struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	int r = query_open(s, SQL_CACHE_TRIM, &q, err);

	if (r < 0)
		return r;
	query_int(&q, age);
	return query_run(&q, err);
}

int store_cache_trim(struct store *s, struct roar_error *err)
{
	int64_t age = 0;
	int r = read_age(s, &age, err);

	return r < 0 ? r : drop_older(s, age - s->cache_max, err);
}

int store_cache_settle(struct store *s, struct roar_error *err)
{
	CLEANUP(query_close) struct query q = { 0 };
	int64_t stride = s->cache_max > SLACK ? s->cache_max / SLACK : 1;
	int r = query_open(s, SQL_CACHE_AGE_SET, &q, err);

	if (r < 0)
		return r;
	query_int(&q, s->cache_age);
	r = query_run(&q, err);
	if (r < 0 || s->cache_start / stride == s->cache_age / stride)
		return r;
	return drop_older(s, s->cache_age - s->cache_max, err);
}
