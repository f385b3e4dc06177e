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

static void check_form(const struct interval_set *set, const uint8_t *form,
		       size_t len)
{
	struct str again = STR_INIT;

	interval_set_encode(set, &again);
	require(str_error(&again) == 0 && again.len == len &&
		memcmp(again.data, form, len) == 0);
	str_release(&again);
}

static void check_gaps(const struct interval_set *set)
{
	struct interval_set gaps = { 0 };
	struct interval_set both = { 0 };

	require(interval_set_gaps(set, 0, SHARD_POSITION_END, &gaps) == 0);
	require(gaps.count + set->count == SHARD_POSITION_END);
	require(interval_set_both(set, &gaps, &both) == 0 && !both.n);
	require(interval_set_union(&gaps, set) == 0 && gaps.n == 1);
	interval_set_release(&gaps);
	interval_set_release(&both);
}

static void check_order(const struct interval_set *set)
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
	struct interval_set set = { 0 };
	uint8_t *form = malloc(len + 8);
	uint64_t crc = crc64nvme(0, data, len);
	int r;

	require(form != NULL);
	if (len)
		memcpy(form, data, len);
	for (int i = 0; i < 8; i++)
		form[len + (size_t)i] = (uint8_t)(crc >> 8 * i);
	r = interval_set_decode(&set, form, len + 8);
	require(r == 0 || r == -EBADMSG || r == -ENOBUFS);
	require(r == 0 || (!set.n && !set.count));
	if (r == 0) {
		check_form(&set, form, len + 8);
		check_order(&set);
		check_gaps(&set);
		form[len] ^= 1;
		interval_set_clear(&set);
		require(interval_set_decode(&set, form, len + 8) == -EBADMSG);
	}
	interval_set_release(&set);
	free(form);
	return 0;
}
