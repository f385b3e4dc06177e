/* cache_visit.c - see cache_visit.h */
#include "hash/read/cache_visit.h"

void cache_visit_begin(struct cache_visit *v, int fd, uint64_t size)
{
	enum residency_means means;

	v->fd = fd;
	v->size = size;
	v->before = RESIDENCY_UNKNOWN;
	if (size == 0 || size > VISIT_BYTES)
		return;
	means = residency_find_means(fd);
	if (means == RESIDENCY_PROBE)
		return;
	v->before = residency_ask(fd, means, 0, size);
	if (v->before == RESIDENCY_PARTLY &&
	    residency_map(fd, means, 0, size, v->pages) < 0)
		v->before = RESIDENCY_UNKNOWN;
}

void cache_visit_end(struct cache_visit *v)
{
	if (v->before == RESIDENCY_NONE)
		residency_drop(v->fd, 0, v->size);
	else if (v->before == RESIDENCY_PARTLY)
		residency_drop_pages(v->fd, 0, v->size, v->pages);
}
