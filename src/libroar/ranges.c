/* ranges.c - the sets of positions of include/roar/shard.h */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "samples.h"

API void roar_ranges_free(struct roar_ranges *set)
{
	if (!set)
		return;
	interval_set_release(&set->set);
	free(set);
}

DEFINE_CLEANUP(struct roar_ranges *, roar_ranges_free)

API int roar_ranges_new(struct roar_ranges **ret)
{
	struct roar_ranges *set = calloc(1, sizeof(*set));

	if (!set)
		return -ENOMEM;
	*ret = set;
	return 0;
}

API int roar_ranges_add(struct roar_ranges *set, uint64_t first, uint64_t end,
			uint64_t *ret_new)
{
	return interval_set_add(&set->set, first, end, ret_new);
}

API int roar_ranges_remove(struct roar_ranges *set, uint64_t first,
			   uint64_t end)
{
	return interval_set_remove(&set->set, first, end);
}

API int roar_ranges_union(struct roar_ranges *set,
			  const struct roar_ranges *other)
{
	/* Adding a set to itself would move what is being read. */
	return set == other ? 0 : interval_set_union(&set->set, &other->set);
}

API int roar_ranges_gaps(const struct roar_ranges *set, uint64_t first,
			 uint64_t end, struct roar_ranges *ret)
{
	return set == ret ? -EINVAL :
			    interval_set_gaps(&set->set, first, end, &ret->set);
}

API uint64_t roar_ranges_count(const struct roar_ranges *set)
{
	return set->set.count;
}

API uint64_t roar_ranges_overlap(const struct roar_ranges *set, uint64_t first,
				 uint64_t end)
{
	return interval_set_overlap(&set->set, first, end);
}

API size_t roar_ranges_n(const struct roar_ranges *set)
{
	return set->set.n;
}

API int roar_ranges_get(const struct roar_ranges *set, size_t i,
			uint64_t *ret_first, uint64_t *ret_end)
{
	if (i >= set->set.n)
		return -ENOENT;
	*ret_first = set->set.items[i].first;
	*ret_end = set->set.items[i].end;
	return 0;
}

API int roar_ranges_encode(const struct roar_ranges *set, void **ret,
			   size_t *ret_len)
{
	struct str bytes = STR_INIT;
	size_t len;
	char *data;

	interval_set_encode(&set->set, &bytes);
	len = bytes.len;
	data = str_take(&bytes);
	if (!data)
		return -ENOMEM;
	*ret = data;
	*ret_len = len;
	return 0;
}

API int roar_ranges_decode(const void *data, size_t len,
			   struct roar_ranges **ret)
{
	CLEANUP(roar_ranges_freep) struct roar_ranges *set = NULL;
	int r = roar_ranges_new(&set);

	if (r == 0)
		r = interval_set_decode(&set->set, data, len);
	if (r == 0)
		*ret = TAKE_PTR(set);
	return r;
}
