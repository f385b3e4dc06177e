/* media_source.c - see media_source.h */
#include "media/media_source.h"

#include <errno.h>
#include <fcntl.h>
#include <libavutil/error.h>
#include <libavutil/mem.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Large reads go past the buffer, small ones are those of headers. */
enum { BUFFER_LEN = 32 * 1024 };

static int64_t read_memory(struct media_source *s, uint8_t *to, int64_t len)
{
	memcpy(to, s->data + s->at, (size_t)len);
	return len;
}

static int64_t read_file(struct media_source *s, uint8_t *to, int64_t len)
{
	ssize_t n;

	do
		n = pread(s->fd, to, (size_t)len, (off_t)s->at);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		s->error = -errno;
	return n < 0 ? AVERROR(errno) : n;
}

static int on_read(void *opaque, uint8_t *to, int len)
{
	struct media_source *s = opaque;
	int64_t left = s->size_bytes - s->at;
	int64_t n = len < left ? len : left;

	if (n <= 0)
		return AVERROR_EOF;
	n = s->data ? read_memory(s, to, n) : read_file(s, to, n);
	if (n > 0)
		s->at += n;
	return n ? (int)n : AVERROR_EOF; /* 0: the file was cut meanwhile */
}

static int64_t on_seek(void *opaque, int64_t offset, int whence)
{
	struct media_source *s = opaque;
	int64_t from = 0;

	whence &= ~AVSEEK_FORCE;
	if (whence == AVSEEK_SIZE)
		return s->size_bytes;
	if (whence == SEEK_CUR)
		from = s->at;
	else if (whence == SEEK_END)
		from = s->size_bytes;
	else if (whence != SEEK_SET)
		return AVERROR(EINVAL);
	if (__builtin_add_overflow(from, offset, &from) || from < 0)
		return AVERROR(EINVAL);
	s->at = from;
	return from;
}

/* Takes the descriptor over, also when it fails. */
static int source_new(const uint8_t *data, int fd, int64_t size,
		      struct media_source **ret)
{
	CLEANUP(closep) int mine = fd;
	CLEANUP(media_source_closep)
	struct media_source *s = calloc(1, sizeof(*s));
	unsigned char *buffer;

	if (!s)
		return -ENOMEM;
	*s = (struct media_source){ .data = data,
				    .fd = TAKE_FD(mine),
				    .size_bytes = size };
	buffer = av_malloc(BUFFER_LEN);
	if (!buffer)
		return -ENOMEM;
	s->io = avio_alloc_context(buffer, BUFFER_LEN, 0, s, on_read, NULL,
				   on_seek);
	if (!s->io) {
		av_free(buffer);
		return -ENOMEM;
	}
	*ret = TAKE_PTR(s);
	return 0;
}

int media_source_memory(const void *data, size_t len, struct media_source **ret)
{
	/* A pointer says that it is memory, even when there is none. */
	return source_new(len ? data : (const uint8_t *)"", -1, (int64_t)len,
			  ret);
}

int media_source_file(const char *path, struct media_source **ret)
{
	/* O_NONBLOCK: a fifo without a writer is refused, not waited for. */
	CLEANUP(closep)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	return source_new(NULL, TAKE_FD(fd), st.st_size, ret);
}

void media_source_close(struct media_source *s)
{
	if (!s)
		return;
	if (s->io) {
		av_freep(&s->io->buffer);
		avio_context_free(&s->io);
	}
	closep(&s->fd);
	free(s);
}
