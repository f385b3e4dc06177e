/* interval_set_code.c - sets of positions as bytes and as text; see interval_set.h */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/byte_order.h"
#include "base/str.h"
#include "hash/digest/crc64nvme.h"
#include "shard/deal/varint.h"
#include "shard/order/interval_set.h"

static const char magic[4] = { 'R', 'R', 'S', '1' };

enum { CHECKSUM = 8 };

void interval_set_encode(const struct interval_set *set, struct str *out)
{
	size_t start = out->len;
	uint64_t at = 0;
	uint64_t crc;

	str_add(out, magic, sizeof(magic));
	varint_put(out, set->n);
	for (size_t i = 0; i < set->n; i++) {
		const struct shard_range *range = &set->items[i];

		varint_put(out, range->first - at);
		varint_put(out, range->end - range->first);
		at = range->end;
	}
	if (str_error(out) < 0)
		return;
	crc = htole64(crc64nvme(0, out->data + start, out->len - start));
	str_add(out, &crc, sizeof(crc));
}

static bool checks_out(const uint8_t *data, size_t len)
{
	return len >= sizeof(magic) + 1 + CHECKSUM &&
	       memcmp(data, magic, sizeof(magic)) == 0 &&
	       le64_get(data + len - CHECKSUM) ==
		       crc64nvme(0, data, len - CHECKSUM);
}

/* Reads one range behind position `from`, which the one before ended at. */
static bool get_range(const uint8_t **at, const uint8_t *end, uint64_t from,
		      struct shard_range *ret)
{
	uint64_t distance;
	uint64_t length;

	if (!varint_get(at, end, &distance) || !varint_get(at, end, &length) ||
	    distance > SHARD_POSITION_END - from || !length ||
	    length > SHARD_POSITION_END - from - distance)
		return false;
	ret->first = from + distance;
	ret->end = ret->first + length;
	return true;
}

/* Ranges that touch would be another form of the same set. */
static int get_ranges(struct interval_set *set, const uint8_t *at,
		      const uint8_t *end, uint64_t n)
{
	struct shard_range range = { 0 };

	for (uint64_t i = 0; i < n; i++) {
		uint64_t before = range.end;
		int r;

		if (!get_range(&at, end, before, &range) ||
		    (i && range.first == before))
			return -EBADMSG;
		r = interval_set_add(set, range.first, range.end, NULL);
		if (r < 0)
			return r;
	}
	return at == end ? 0 : -EBADMSG;
}

int interval_set_decode(struct interval_set *set, const void *data, size_t len)
{
	const uint8_t *at = data;
	const uint8_t *end;
	uint64_t n;
	int r;

	if (!checks_out(data, len))
		return -EBADMSG;
	end = at + len - CHECKSUM;
	at += sizeof(magic);
	if (!varint_get(&at, end, &n))
		return -EBADMSG;
	if (n > INTERVAL_SET_MAX)
		return -ENOBUFS;
	r = get_ranges(set, at, end, n);
	if (r < 0)
		interval_set_clear(set);
	return r;
}

void interval_set_text(const struct interval_set *set, size_t max,
		       struct str *out)
{
	for (size_t i = 0; i < set->n && i < max; i++) {
		const struct shard_range *range = &set->items[i];

		str_addf(out, "%s%" PRIu64, i ? ", " : "", range->first);
		if (range->end - range->first > 1)
			str_addf(out, "-%" PRIu64, range->end - 1);
	}
	if (set->n > max)
		str_addf(out, " and %zu more ranges", set->n - max);
}
