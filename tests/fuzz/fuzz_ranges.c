/* fuzz_ranges.c - a set of positions as somebody encoded it.
 *
 * A checksum that fits cannot be guessed, so the target puts the right one at the end.
 * What is accepted then must be the one form of its set, and its gaps the rest. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "hash/digest/crc64nvme.h"
#include "shard/order/interval_set.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool promise)
{
	if (!promise)
		abort();
}

static void check_form(const struct shard_ranges *set, const uint8_t *form,
		       size_t len)
{
	struct str again = STR_INIT;

	shard_ranges_encode(set, &again);
	require(str_error(&again) == 0 && again.len == len &&
		memcmp(again.data, form, len) == 0);
	str_release(&again);
}

static void check_gaps(const struct shard_ranges *set)
{
	struct shard_ranges gaps = { 0 };
	struct shard_ranges both = { 0 };

	require(shard_ranges_gaps(set, 0, SHARD_POSITION_END, &gaps) == 0);
	require(gaps.count + set->count == SHARD_POSITION_END);
	require(shard_ranges_both(set, &gaps, &both) == 0 && !both.n);
	require(shard_ranges_union(&gaps, set) == 0 && gaps.n == 1);
	shard_ranges_release(&gaps);
	shard_ranges_release(&both);
}

static void check_order(const struct shard_ranges *set)
{
	uint64_t count = 0;

	for (size_t i = 0; i < set->n; i++) {
		const struct shard_range *range = &set->items[i];

		require(range->first < range->end &&
			range->end <= SHARD_POSITION_END);
		require(!i || set->items[i - 1].end < range->first);
		count += range->end - range->first;
	}
	require(count == set->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct shard_ranges set = { 0 };
	uint8_t *form = malloc(len + 8);
	uint64_t crc = crc64nvme(0, data, len);
	int r;

	require(form != NULL);
	if (len)
		memcpy(form, data, len);
	for (int i = 0; i < 8; i++)
		form[len + (size_t)i] = (uint8_t)(crc >> 8 * i);
	r = shard_ranges_decode(&set, form, len + 8);
	require(r == 0 || r == -EBADMSG || r == -ENOBUFS);
	require(r == 0 || (!set.n && !set.count));
	if (r == 0) {
		check_form(&set, form, len + 8);
		check_order(&set);
		check_gaps(&set);
		form[len] ^= 1;
		shard_ranges_clear(&set);
		require(shard_ranges_decode(&set, form, len + 8) == -EBADMSG);
	}
	shard_ranges_release(&set);
	free(form);
	return 0;
}
