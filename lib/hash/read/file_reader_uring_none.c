/* ranges_uring_none.c - stands in for ranges_uring.c where there is no liburing. */
#include <errno.h>

#include "hash/read/file_reader_internal.h"

static int refuse(struct ranges_worker *w)
{
	(void)w;
	return -ENOSYS;
}

const struct ranges_ops ranges_uring = {
	.way = RANGES_URING,
	.next = &ranges_direct,
	.is_direct = true,
	.depth = 1,
	.open = refuse,
};
