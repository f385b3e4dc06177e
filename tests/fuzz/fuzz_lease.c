/* fuzz_lease.c - leases as a snapshot has them.
 *
 * A checksum that fits cannot be guessed, so the target puts the right one at the end.
 * What is accepted must be written again byte by byte, no position may be in two
 * places, and all that is left can be lent and consumed. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "hash/digest/crc64nvme.h"
#include "shard/lease/lease.h"

enum { MOST_TAKES = 1000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool promise)
{
	if (!promise)
		abort();
}

static void check_form(const struct leases *l, const uint8_t *form, size_t len)
{
	struct str again = STR_INIT;

	leases_encode(l, &again);
	require(str_error(&again) == 0 && again.len == len &&
		memcmp(again.data, form, len) == 0);
	str_release(&again);
}

static void check_places(const struct leases *l)
{
	struct interval_set all = { 0 };
	uint64_t added;

	require(interval_set_union(&all, &l->free) == 0);
	for (size_t i = 0; i < l->n; i++) {
		const struct shard_range *range = &l->items[i].range;

		require(range->first < range->end);
		if (l->items[i].late)
			continue;
		require(interval_set_add(&all, range->first, range->end,
					 &added) == 0);
		require(added == range->end - range->first);
	}
	require(interval_set_union(&all, &l->consumed) == 0);
	require(all.count == l->spec.total);
	interval_set_release(&all);
}

static void lapse_all(struct leases *l)
{
	uint64_t id;

	while (leases_overdue(l, INT64_MAX, &id, 1))
		require(leases_lapse(l, id) == 0);
	require(leases_next_deadline(l) == INT64_MAX);
}

/* Takes what is free, consumes it, and lets all deadlines pass. */
static void use(struct leases *l)
{
	struct lease lease;
	int r = 0;

	for (int i = 0; i < MOST_TAKES && r == 0; i++) {
		r = leases_take(l, 1, 0, 0, &lease);
		if (r == 0)
			r = leases_progress(l, lease.id, 1,
					    lease.range.end - lease.range.first,
					    NULL);
		if (r == 0)
			require(leases_ended(l, 1, lease.id)->kind ==
				LEASE_USED_UP);
	}
	require(r == 0 || r == -EAGAIN || r == -ENODATA || r == -ENOBUFS);
	lapse_all(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *form = malloc(len + 8);
	uint64_t crc = crc64nvme(0, data, len);
	struct leases l;
	int r;

	require(form != NULL);
	if (len)
		memcpy(form, data, len);
	for (int i = 0; i < 8; i++)
		form[len + (size_t)i] = (uint8_t)(crc >> 8 * i);
	r = leases_decode(&l, form, len + 8, 0);
	require(r == 0 || r == -EBADMSG || r == -ENOBUFS);
	if (r == 0) {
		check_form(&l, form, len + 8);
		check_places(&l);
		use(&l);
		leases_release(&l);
	}
	free(form);
	return 0;
}
