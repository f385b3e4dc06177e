/* sample_source.h - a file that samples are read from.
 *
 * Only regular files are accepted, so that no read blocks.  A read returns all bytes or an
 * error: if the file ends early, it has become shorter since it was opened. */
#ifndef ROAR_READER_SAMPLE_SOURCE_H
#define ROAR_READER_SAMPLE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stamp.h"

struct iovec;
struct roar_error;

struct source {
	int fd; /* -1: none */
	const char *path; /* for messages; borrowed */
	struct stamp stamp; /* of the file when it was opened */
};

#define SOURCE_INIT ((struct source){ .fd = -1 })

/* Opens `path`, which must outlive the source.  The errors of open(2), -EISDIR, or
 * -EINVAL for a file that is not regular. */
int source_open(const char *path, struct source *ret, struct roar_error *err);
void source_close(struct source *s);

/* The same file under a descriptor of its own, as it was when `s` was opened. */
int source_copy(const struct source *s, const char *path, struct source *ret,
		struct roar_error *err);

/* Reads exactly `len` bytes.  -ESTALE when the file ends before that; errors of read(2). */
int source_read(const struct source *s, uint64_t offset, void *to, size_t len,
		struct roar_error *err);

/* The same into several buffers, one after the other. */
int source_readv(const struct source *s, uint64_t offset,
		 const struct iovec *to, int n, struct roar_error *err);

/* Is the byte in the page cache?  False if the file system cannot tell. */
bool source_is_cached(const struct source *s, uint64_t offset);

/* 0 while size and timestamp are those of the open, else -ESTALE. */
int source_check(const struct source *s, struct roar_error *err);

#endif
