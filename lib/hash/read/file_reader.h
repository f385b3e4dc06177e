/* file_reader.h - reads a file at the speed of its device.
 *
 * A regular file is divided into leaves: aligned blocks of one size, the last one shorter.
 * Each leaf is passed to a sink exactly once, from several threads at a time.  How a leaf
 * is read depends on where it is:
 *
 *	a hole			not at all: one block of zeros is passed for all
 *	in the page cache	by pread(2), which is a copy in memory, or in a
 *				mapping: whichever is faster on this machine
 *	on a disk		bypassing the page cache, with many reads in flight
 *
 * Reading leaves the page cache unchanged: pages that were not in it before are dropped,
 * and those that were are kept.  The kernel reports cached pages only to the owner of the
 * file, to root and to users that may write it.  For other users, content that can only be
 * read through the cache stays there, and also when no descriptor is free.  A failed read
 * may leave a few prefetched leaves in the cache.
 *
 * Files are mapped only if the options allow it: access to a mapping of a file that another
 * process truncates raises SIGBUS, and this code also runs in processes that do not leave
 * their signals to us.
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

/* How leaves are read that are neither holes nor in the page cache.  If a way is not
 * available, the next one is used:
 *
 *	URING -> DIRECT -> BUFFERED */
enum file_reader_way {
	FILE_READER_AUTO, /* the best one for this file */
	FILE_READER_URING, /* O_DIRECT, a queue of reads for each thread */
	FILE_READER_DIRECT, /* O_DIRECT, one read at a time for each thread */
	FILE_READER_BUFFERED, /* through the page cache, then dropped */
	/* The same, one reader from the first byte to the last, with readahead. */
	FILE_READER_SEQUENTIAL,
	FILE_READER_MAPPED, /* as BUFFERED; cached pages are not copied */
	FILE_READER_WAY_END,
};

/* Statistics for tests and benchmarks. */
struct file_reader_report {
	enum file_reader_way way;
	unsigned n_workers;
	uint64_t bytes_direct; /* read bypassing the page cache */
	uint64_t bytes_buffered; /* read through it */
	uint64_t bytes_mapped; /* read in a mapping of it */
	uint64_t bytes_hole; /* not read */
};

struct file_reader_options {
	/* Bytes, a power of two from a page to FILE_READER_LEAF_MAX; 0:
	 * FILE_READER_LEAF. */
	size_t leaf;
	/* Bytes for buffers, of which there is at least one; 0: 64 MiB. */
	size_t memory;
	/* Including the caller's; 0: one per CPU, at most 8. */
	unsigned n_threads;
	/* Leaves before this offset are not read; a multiple of `leaf`, below the size. */
	uint64_t from;
	/* Leaves are passed in order, and the sink is never called concurrently. */
	bool in_order;
	enum file_reader_way way; /* the first one to try, in the order above */
	/* SIGBUS may be handled (bus_guard.h), and the sink only reads the data and writes
	 * to memory that may be written again: it can be called twice for a leaf, and the
	 * first call can be aborted. */
	bool may_map;
	/* Called before each leaf, from any of the threads; may be NULL. */
	bool (*cancelled)(void *ctx);
	/* Memory of the caller, used for reads through the page cache if it is large
	 * enough, because a new mapping costs a page fault per page.  May be NULL. */
	void *buffer;
	size_t buffer_len;
	struct file_reader_report
		*report; /* filled in also on failure; may be NULL */
};

/* Receives `len` bytes from `offset` on; `data` is valid during the call.  Called from up
 * to n_threads threads, each with its own `worker` below n_threads; the calling thread is
 * worker 0.  A negative return value ends the read. */
typedef int file_reader_sink(void *ctx, unsigned worker, uint64_t offset,
			     const uint8_t *data, size_t len);

/* Passes the content of a regular file of `size` bytes to the sink, which is not called for
 * an empty file.  `fd` is borrowed, open for reading, and keeps its position.  0; -ESTALE:
 * the file has, or had meanwhile, another size; -ECANCELED; the negative return value of
 * the sink; -EINVAL: invalid options, or not a regular file; -ENOMEM; or an error of a read
 * such as -EIO.  After a failure the sink may have seen any part.  A change that keeps the
 * size is not detected here: compare stamps. */
int file_reader_read(int fd, uint64_t size,
		     const struct file_reader_options *options,
		     file_reader_sink *sink, void *ctx);

/* Is this the block of zeros that is passed for holes?  For a sink that has already
 * computed its result for zeros. */
bool file_reader_is_hole(const uint8_t *data);

const char *file_reader_way_name(enum file_reader_way way);

#endif
