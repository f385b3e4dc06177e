/* media_source.h - bytes that FFmpeg's demuxers read: memory, or a file.
 *
 * A file is opened here and not by FFmpeg, which would also open "http://..." or
 * "concat:a|b".  Only regular files are accepted, so that no read blocks. */
#ifndef ROAR_MEDIA_SOURCE_H
#define ROAR_MEDIA_SOURCE_H

#include <libavformat/avio.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct media_source {
	const uint8_t *data; /* memory; NULL: a file */
	int fd; /* of the file */
	int64_t size_bytes;
	int64_t at; /* offset of the next read */
	int error; /* of the last read that failed, negative errno */
	AVIOContext *io; /* passed to FFmpeg */
};

/* A source in memory, which must not change until the source is closed.  -ENOMEM. */
int media_source_memory(const void *data, size_t len,
			struct media_source **ret);

/* A source in a file.  Errors of open(2); -EISDIR or -EINVAL: not a regular file. */
int media_source_file(const char *path, struct media_source **ret);

void media_source_close(struct media_source *s);
DEFINE_CLEANUP(struct media_source *, media_source_close)

#endif
