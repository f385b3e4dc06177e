/* sample_source.h - a file, or an object of a store, that samples are read from.
 *
 * Of files only regular ones are accepted, so that no read blocks.  A read returns all bytes
 * or an error: if the file ends early, it has become shorter since it was opened.
 *
 * What begins with a scheme ("s3://bucket/key") is read by whoever registered for it.
 * Reading it takes time, so whoever knows what is wanted next says so (source_expect()), and
 * a thread that may be interrupted says how to find that out. */
#ifndef ROAR_READER_SAMPLE_SOURCE_H
#define ROAR_READER_SAMPLE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stamp.h"

struct iovec;
struct roar_error;

/* How sources of a scheme are read.  Threads share a source. */
struct source_ops {
	/* Errors as source_open().  The stamp tells one content from another by its size and
	 * its time of modification, which may be any number. */
	int (*open)(const char *url, struct stamp *ret_stamp, void **ret_data,
		    struct roar_error *err);
	void *(*hold)(void *data); /* another reference, for close() */
	void (*close)(void *data);
	/* As source_read(), and of the content that was opened: else -ESTALE.  The range is
	 * within its size. */
	int (*read)(void *data, uint64_t offset, void *to, size_t len,
		    struct roar_error *err);
	void (*expect)(void *data, uint64_t offset, size_t len);
	bool (*is_cached)(void *data, uint64_t offset);
};

struct source {
	int fd; /* of a file; -1: none */
	const struct source_ops *ops; /* NULL: a file */
	void *data; /* of the ops */
	const char *path; /* for messages; borrowed */
	struct stamp stamp; /* of the content when it was opened */
};

#define SOURCE_INIT ((struct source){ .fd = -1 })

/* `scheme` is "s3" for "s3://...".  Both live as long as the program; call it before the
 * first source is opened, and once for a scheme. */
void source_register(const char *scheme, const struct source_ops *ops);

/* Does the path have a scheme of objects, registered or not? */
bool source_is_remote(const char *path);

/* Opens `path`, which must outlive the source.  The errors of open(2), -EISDIR, -EINVAL for a
 * file that is not regular, or -ENOTSUP for a scheme that nobody registered. */
int source_open(const char *path, struct source *ret, struct roar_error *err);
void source_close(struct source *s);
bool source_is_open(const struct source *s);

/* The same file under a descriptor of its own, as it was when `s` was opened. */
int source_copy(const struct source *s, const char *path, struct source *ret,
		struct roar_error *err);

/* Reads exactly `len` bytes.  -ESTALE when the file ends before that, or when an object was
 * replaced; -EINTR; errors of read(2). */
int source_read(const struct source *s, uint64_t offset, void *to, size_t len,
		struct roar_error *err);

/* The same into several buffers, one after the other. */
int source_readv(const struct source *s, uint64_t offset,
		 const struct iovec *to, int n, struct roar_error *err);

/* This will be read soon.  Nothing happens for a file: the kernel reads ahead. */
void source_expect(const struct source *s, uint64_t offset, size_t len);

/* Is the byte in memory?  False if the file system cannot tell. */
bool source_is_cached(const struct source *s, uint64_t offset);

/* 0 while size and timestamp are those of the open, else -ESTALE.  Of an object every read
 * has seen to that. */
int source_check(const struct source *s, struct roar_error *err);

/* How waits of this thread find out that they should end, as they ask a few times a second;
 * NULL: they never end. */
void source_set_interrupt(bool (*is_interrupted)(void));
bool source_is_interrupted(void);

enum { SOURCE_ASK_MS = 100 };

#endif
