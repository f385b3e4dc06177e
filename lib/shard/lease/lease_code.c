/* lease_code.c - leases as bytes, for a snapshot; see lease.h
 *
 * What is free is not kept: it is what is neither consumed nor lent.  Nor are deadlines,
 * which are of a clock that ends with its process. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/byte_order.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/vec.h"
#include "hash/digest/crc64nvme.h"
#include "shard/deal/varint.h"
#include "shard/lease/lease.h"

static const char magic[4] = { 'R', 'L', 'S', '2' };

enum { CHECKSUM = 8 };

/* ---- writing ---- */

static void put_lease(struct str *out, const struct lease *lease)
{
	varint_put(out, lease->id);
	varint_put(out, lease->holder);
	varint_put(out, lease->request);
	varint_put(out, lease->began);
	varint_put(out, lease->range.first);
	varint_put(out, lease->range.end);
	varint_put(out, lease->n_new);
	varint_put(out, lease->late);
}

static uint32_t n_ends(const struct leases *l, size_t holder)
{
	return l->past[holder] ? l->past[holder]->n : 0;
}

static void put_past(struct str *out, const struct leases *l, size_t holder)
{
	varint_put(out, n_ends(l, holder));
	for (uint32_t i = 0; i < n_ends(l, holder); i++) {
		const struct lease_end *end = &l->past[holder]->ends[i];

		varint_put(out, end->id);
		varint_put(out, end->began);
		varint_put(out, end->to);
		varint_put(out, end->n_new);
		varint_put(out, end->kind);
	}
}

/* Up to the last holder that has one: how much memory was taken is no part of it. */
static size_t n_holders(const struct leases *l)
{
	size_t n = l->n_past;

	while (n && !n_ends(l, n - 1))
		n--;
	return n;
}

static void put_consumed(struct str *out, const struct leases *l)
{
	CLEANUP(str_release) struct str set = STR_INIT;

	interval_set_encode(&l->consumed, &set);
	out->failed |= set.failed;
	varint_put(out, set.len);
	str_add(out, set.data, set.len);
}

void leases_encode(const struct leases *l, struct str *out)
{
	size_t start = out->len;
	uint64_t crc;

	str_add(out, magic, sizeof(magic));
	varint_put(out, l->spec.total);
	varint_put(out, l->spec.chunk);
	varint_put(out, (uint64_t)l->spec.timeout_ms);
	varint_put(out, l->spec.mode);
	varint_put(out, l->next_id);
	varint_put(out, l->reissued);
	varint_put(out, l->repeated);
	put_consumed(out, l);
	varint_put(out, l->n);
	for (size_t i = 0; i < l->n; i++)
		put_lease(out, &l->items[i]);
	varint_put(out, n_holders(l));
	for (size_t i = 0; i < n_holders(l); i++)
		put_past(out, l, i);
	if (str_error(out) < 0)
		return;
	crc = htole64(crc64nvme(0, out->data + start, out->len - start));
	str_add(out, &crc, sizeof(crc));
}

/* ---- reading ---- */

struct reader {
	const uint8_t *at;
	const uint8_t *end;
	bool failed; /* a number was none */
};

static uint64_t get(struct reader *r)
{
	uint64_t value = 0;

	r->failed = r->failed || !varint_get(&r->at, r->end, &value);
	return value;
}

static bool checks_out(const uint8_t *data, size_t len)
{
	return len >= sizeof(magic) + CHECKSUM &&
	       memcmp(data, magic, sizeof(magic)) == 0 &&
	       le64_get(data + len - CHECKSUM) ==
		       crc64nvme(0, data, len - CHECKSUM);
}

static int get_spec(struct reader *r, struct lease_spec *ret)
{
	uint64_t timeout_ms, mode;

	ret->total = get(r);
	ret->chunk = get(r);
	timeout_ms = get(r);
	mode = get(r);
	if (r->failed || timeout_ms > INT64_MAX || mode > LEASE_AT_LEAST_ONCE)
		return -EBADMSG;
	ret->timeout_ms = (int64_t)timeout_ms;
	ret->mode = (enum lease_mode)mode;
	return 0;
}

static int get_consumed(struct reader *r, struct interval_set *ret)
{
	uint64_t len = get(r);

	if (r->failed || len > (size_t)(r->end - r->at))
		return -EBADMSG;
	r->at += len;
	return interval_set_decode(ret, r->at - len, (size_t)len);
}

/* Whether a lease can be behind those that are there. */
static bool fits(const struct leases *l, const struct lease *lease)
{
	const struct shard_range *range = &lease->range;

	if (lease->id >= l->next_id || lease->holder >= LEASE_HOLDERS ||
	    lease->began > range->first || range->first >= range->end ||
	    range->end > l->spec.total)
		return false;
	if (l->n && l->items[l->n - 1].id >= lease->id)
		return false;
	return l->spec.mode == LEASE_AT_LEAST_ONCE ||
	       (!lease->late &&
		!interval_set_overlap(&l->consumed, range->first, range->end));
}

/* Adds one, and its positions to what is `taken`: none is lent twice. */
static int get_lease(struct reader *r, struct leases *l,
		     struct interval_set *taken)
{
	struct lease lease = { 0 };
	uint64_t late;
	struct lease *to;
	int error;

	lease.id = get(r);
	lease.holder = get(r);
	lease.request = get(r);
	lease.began = get(r);
	lease.range.first = get(r);
	lease.range.end = get(r);
	lease.n_new = get(r);
	late = get(r);
	lease.late = late;
	if (r->failed || late > 1 || !fits(l, &lease) ||
	    (!late &&
	     interval_set_overlap(taken, lease.range.first, lease.range.end)))
		return -EBADMSG;
	error = lease_history_reserve(l, lease.holder);
	if (error < 0)
		return error;
	to = VEC_PUSH(l->items, l->n, l->cap);
	if (!to)
		return -ENOMEM;
	*to = lease;
	return late ? 0 :
		      interval_set_add(taken, lease.range.first,
				       lease.range.end, NULL);
}

static int get_end(struct reader *r, const struct leases *l,
		   struct lease_end *ret)
{
	uint64_t kind;

	ret->id = get(r);
	ret->began = get(r);
	ret->to = get(r);
	ret->n_new = get(r);
	kind = get(r);
	if (r->failed || !ret->id || ret->id >= l->next_id ||
	    kind > LEASE_LOST || ret->began > ret->to ||
	    ret->to > l->spec.total)
		return -EBADMSG;
	ret->kind = (enum lease_end_kind)kind;
	return 0;
}

static int get_past(struct reader *r, struct leases *l, uint64_t holder,
		    bool is_last)
{
	uint64_t n = get(r);
	int error = r->failed || n > LEASE_PAST || (is_last && !n) ? -EBADMSG :
								     0;

	if (error == 0 && n)
		error = lease_history_reserve(l, holder);
	for (uint64_t i = 0; i < n && error == 0; i++) {
		struct lease_end end;

		error = get_end(r, l, &end);
		if (error == 0)
			lease_history_add(l, holder, &end);
	}
	return error;
}

static int get_pasts(struct reader *r, struct leases *l)
{
	uint64_t n = get(r);
	int error = r->failed || n > LEASE_HOLDERS ? -EBADMSG : 0;

	for (uint64_t i = 0; i < n && error == 0; i++)
		error = get_past(r, l, i, i + 1 == n);
	return error == 0 && r->at != r->end ? -EBADMSG : error;
}

static int get_leases(struct reader *r, struct leases *l)
{
	CLEANUP(interval_set_release) struct interval_set taken = { 0 };
	uint64_t n = get(r);
	int error = r->failed || n > LEASE_MAX ? -EBADMSG : 0;

	for (uint64_t i = 0; i < n && error == 0; i++)
		error = get_lease(r, l, &taken);
	if (error == 0)
		error = get_pasts(r, l);
	if (error == 0)
		error = interval_set_union(&taken, &l->consumed);
	if (error < 0)
		return error;
	interval_set_clear(&l->free);
	return interval_set_gaps(&taken, 0, l->spec.total, &l->free);
}

int leases_decode(struct leases *l, const void *data, size_t len,
		  int64_t now_ms)
{
	CLEANUP(interval_set_release) struct interval_set consumed = { 0 };
	struct lease_spec spec = { 0 };
	uint64_t next_id, reissued, repeated;
	struct reader r;
	int error;

	if (!checks_out(data, len))
		return -EBADMSG;
	r = (struct reader){ .at = (const uint8_t *)data + sizeof(magic),
			     .end = (const uint8_t *)data + len - CHECKSUM };
	error = get_spec(&r, &spec);
	next_id = get(&r);
	reissued = get(&r);
	repeated = get(&r);
	if (error == 0 && (!next_id || next_id > INT64_MAX))
		error = -EBADMSG; /* ids have room to grow */
	if (error == 0)
		error = get_consumed(&r, &consumed);
	if (error == 0)
		error = leases_init(l, &spec, &consumed, NULL);
	if (error < 0)
		return error == -EINVAL ? -EBADMSG : error;
	l->next_id = next_id;
	l->reissued = reissued;
	l->repeated = repeated;
	error = get_leases(&r, l);
	if (error < 0)
		leases_release(l);
	else
		leases_renew_all(l, now_ms);
	return error;
}
