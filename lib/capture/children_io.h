/* children_io.h - bytes that the ended children of this process have read and written.
 *
 * The kernel adds up the I/O of children that were waited for, like their CPU time, but
 * shows only its sum with that of the process itself: /proc/self/io minus that of the
 * threads, in /proc/self/task.  Threads of this process that have ended count as well. */
#ifndef ROAR_CAPTURE_CHILDREN_IO_H
#define ROAR_CAPTURE_CHILDREN_IO_H

#include <stdbool.h>
#include <stdint.h>

struct children_io {
	uint64_t bytes_read; /* by system calls, from anything */
	uint64_t bytes_written;
};

/* False where the kernel does not tell. */
bool children_io_find(struct children_io *ret);

#endif
