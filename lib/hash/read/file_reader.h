/* file_reader.h - the content of a file at the speed of its device.
 *
 * A regular file is cut into leaves: aligned blocks of one size, the last one
 * shorter.  Each leaf is handed to a sink exactly once, from several threads at
 * a time.  How a leaf is read depends on where it is:
 *
 *	a hole			not at all: one block of zeros serves all
 *	in the page cache	by pread(2), which is a copy in memory, or where
 *				it is: whatever the machine is faster with
 *	on a disk		past the page cache, many reads under way
 *
 * Reading leaves the page cache as it was: what was not in it before is not in it
 * afterwards, and what was is never dropped.  That is known to the page for the
 * owner of the file, for root and for those who may write it; the kernel tells
 * nobody else.  For them content that can only be read through the cache stays
 * there, and so it does when there is no descriptor to spare.  A read that fails
 * may leave a few leaves behind that were asked for ahead.
 *
 * Files are mapped only where the options allow it: a mapping of a file that another
 * process truncates raises SIGBUS, and this code also lives in processes whose signals
 * belong to others.
 *
 * Memory is bounded by the options, not by the file.  One call is independent of
 * others in the same process. */
#ifndef ROAR_HASH_FILE_READER_H
#define ROAR_HASH_FILE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FILE_READER_LEAF = 1024 * 1024, /* the default */
	FILE_READER_LEAF_MAX = 16 * 1024 * 1024,
};

/* How the leaves are read that are neither holes nor in the page cache.  A way
 * that is not to be had gives way to the next:
 *
 *	URING -> DIRECT -> BUFFERED */
enum file_reader_way {
	FILE_READER_AUTO, /* the best for this file, here and now */
	FILE_READER_URING, /* O_DIRECT, a queue of reads for each thread */
	FILE_READER_DIRECT, /* O_DIRECT, one read at a time for each thread */
	FILE_READER_BUFFERED, /* through the page cache, dropped behind us */
	FILE_READER_SEQUENTIAL, /* the same, one reader from the first byte to the
			    * last, the next leaves asked for ahead */
	FILE_READER_MAPPED, /* as BUFFERED; what is in the page cache is not copied */
	FILE_READER_WAY_END,
};

/* What was done, for tests and benchmarks. */
struct file_reader_report {
	enum file_reader_way way;
	unsigned n_workers;
	uint64_t bytes_direct; /* read past the page cache */
	uint64_t bytes_buffered; /* read through it */
	uint64_t bytes_mapped; /* looked at in it */
	uint64_t bytes_hole; /* not read */
};

struct file_reader_options {
	size_t leaf; /* bytes, a power of two from a page to FILE_READER_LEAF_MAX; 0:
		      * FILE_READER_LEAF */
	size_t memory; /* bytes for buffers, of which there is at least one;
			* 0: 64 MiB */
	unsigned n_threads; /* the caller's included; 0: one per CPU, at most 8 */
	uint64_t from; /* leaves before this offset are not read; a multiple of
			* `leaf`, below the size */
	bool in_order; /* one leaf after the other from the first byte on; the
			* sink is never inside twice */
	enum file_reader_way way; /* where to begin in the list above */
	/* SIGBUS is ours to handle (bus_guard.h), and the sink does nothing but look at
	 * the data and write to memory that may be written again: it can be called
	 * twice for a leaf, the first time without an end. */
	bool may_map;
	/* Asked before each leaf, from any of the threads; may be NULL. */
	bool (*cancelled)(void *ctx);
	/* Memory of the caller's, used for reads through the page cache where it is
	 * enough: that of a new mapping costs a fault for each page.  May be NULL. */
	void *buffer;
	size_t buffer_len;
	struct file_reader_report
		*report; /* filled in whatever comes; may be NULL */
};

/* Takes `len` bytes that begin at `offset`; `data` is valid during the call.  Called
 * from up to n_threads threads, each with its own `worker` below n_threads; the
 * calling thread is worker 0.  A negative return ends it all. */
typedef int file_reader_sink(void *ctx, unsigned worker, uint64_t offset,
			     const uint8_t *data, size_t len);

/* Hands the first `size` bytes of a regular file, which are all it has, to the
 * sink; for an empty file that is never called.  `fd` is borrowed, open for
 * reading, and keeps its position.
 * 0; -ESTALE when the file has more bytes or fewer, at the beginning, at the end
 * or in between; -ECANCELED; the negative return of the sink; -EINVAL for options
 * that make no sense and for what is no regular file; -ENOMEM; or what the kernel
 * said to a read, -EIO for one.  After a failure the sink may have seen any part.
 * A change that keeps the size is not noticed here: compare stamps. */
int file_reader_read(int fd, uint64_t size,
		     const struct file_reader_options *options,
		     file_reader_sink *sink, void *ctx);

/* Is this the block of zeros that stands for holes?  For a sink that knows the
 * outcome for zeros already. */
bool file_reader_is_hole(const uint8_t *data);

const char *file_reader_way_name(enum file_reader_way way);

#endif
