/* file_reader_uring_none.c - stands in for file_reader_uring.c where there is no liburing. */
#include <errno.h>

#include "hash/read/file_reader_internal.h"

static int refuse(struct file_reader_worker *w)
{
	(void)w;
	return -ENOSYS;
}

const struct file_reader_ops file_reader_uring = {
	.way = FILE_READER_URING,
	.next = &file_reader_direct,
	.is_direct = true,
	.depth = 1,
	.open = refuse,
};
