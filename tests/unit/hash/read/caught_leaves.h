/* caught_ranges.h - files of a known pattern, read in leaves by every way, and a
 * sink that looks at what comes. */
#ifndef ROAR_TEST_CAUGHT_RANGES_H
#define ROAR_TEST_CAUGHT_RANGES_H

#include <stdatomic.h>

#include "cached_file.h"
#include "hash/read/file_reader.h"

enum { LEAF = 8192, N_THREADS = 3, BIG = 40 * LEAF + 5000 };

static const enum file_reader_way ways[] = {
	FILE_READER_URING, FILE_READER_DIRECT, FILE_READER_BUFFERED,
	FILE_READER_SEQUENTIAL, FILE_READER_MAPPED
};
enum { N_WAYS = sizeof(ways) / sizeof(*ways) };

/* Collects what comes.  The leaves are disjoint, so the threads do not meet. */
struct catch
{
	uint8_t *data;
	size_t size;
	uint64_t expected; /* in order: the offset that must come next */
	bool in_order;
	_Atomic unsigned n_calls;
	_Atomic unsigned n_wrong; /* offset, length, worker or order */
	_Atomic uint64_t n_bytes;
	/* What the sink does at call number `act_at`: */
	unsigned act_at;
	int (*act)(struct catch * c);
	int fd;
	atomic_bool is_cancelled;
};

static inline int take(void *ctx, unsigned worker, uint64_t offset,
		       const uint8_t *data, size_t len)
{
	struct catch *c = ctx;
	unsigned n = c->n_calls++;

	if (worker >= N_THREADS || offset % LEAF ||
	    len != (c->size - offset < LEAF ? c->size - offset : LEAF) ||
	    (c->in_order && offset != c->expected)) {
		c->n_wrong++;
		return 0;
	}
	if (c->in_order)
		c->expected += len;
	if (c->data)
		memcpy(c->data + offset, data, len);
	c->n_bytes += len;
	return c->act && n == c->act_at ? c->act(c) : 0;
}

static inline bool is_cancelled(void *ctx)
{
	return ((struct catch *)ctx)->is_cancelled;
}

static inline struct file_reader_options
options_for(enum file_reader_way way, bool in_order,
	    struct file_reader_report *report)
{
	return (struct file_reader_options){
		.leaf = LEAF,
		.n_threads = N_THREADS,
		.way = way,
		.may_map = way == FILE_READER_MAPPED,
		.in_order = in_order,
		.cancelled = is_cancelled,
		.report = report,
	};
}

static inline int open_file(struct temp_dir *dir, int flags)
{
	int fd = openat(dir->fd, "f", flags | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* A file of the pattern, written to the disk and not in the cache (but for file
 * systems in memory). */
static inline int make_cold(struct temp_dir *dir, size_t size)
{
	int fd;

	write_pattern(dir, "f", size, 0);
	fd = open_file(dir, O_RDWR);
	drop_cache(fd);
	return fd;
}

static inline void assert_pattern(const struct catch *c)
{
	assert_int_equal(c->n_wrong, 0);
	assert_int_equal(c->n_bytes, c->size);
	for (size_t i = 0; i < c->size; i++) {
		if (c->data[i] != i % 251)
			fail_msg("byte %zu is %u", i, c->data[i]);
	}
}

/* Reads a file that has the pattern, and looks at what came. */
static inline struct file_reader_report
read_well(int fd, size_t size, struct file_reader_options options)
{
	CLEANUP(freep) uint8_t *data = malloc(size + 1);
	struct catch c = { .data = data,
			   .size = size,
			   .in_order = options.in_order };
	struct file_reader_report report;

	options.report = &report;
	assert_int_equal(file_reader_read(fd, size, &options, take, &c), 0);
	assert_pattern(&c);
	assert_int_equal(report.bytes_direct + report.bytes_buffered +
				 report.bytes_mapped + report.bytes_hole,
			 size);
	return report;
}

#endif
