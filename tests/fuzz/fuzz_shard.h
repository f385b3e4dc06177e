/* fuzz_shard.h - bytes as a file that a reader opens. */
#ifndef ROAR_FUZZ_SHARD_H
#define ROAR_FUZZ_SHARD_H

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reader/reader.h"

/* Opens the bytes as a shard; what reader_open() says. */
static inline int fuzz_shard_open(const uint8_t *data, size_t len,
				  enum reader_kind kind, struct reader **ret)
{
	struct reader_options options = { .kind = kind,
					  .max_sample = 1 << 20,
					  .index = READER_INDEX_NONE };
	CLEANUP(closep) int fd = memfd_create("shard", MFD_CLOEXEC);
	struct roar_error err = { "" };
	char path[64];
	int r;

	assert(fd >= 0 && write(fd, data, len) == (ssize_t)len);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = reader_open(path, &options, ret, &err);
	assert(r == 0 || err.text[0]); /* failures have a sentence */
	return r;
}

#endif
