/* file_reader_pread.c - the ways that read with pread(2). */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "hash/read/file_reader_internal.h"

enum {
	AHEAD_STEP = 128 * 1024, /* what the kernel reads ahead in one call is
				  * bounded, by this much or more */
	AHEAD_LEAVES = 8,
};

static ssize_t read_at(int fd, void *data, size_t len, uint64_t offset)
{
	for (;;) {
		ssize_t n = pread(fd, data, len, (off_t)offset);

		if (n >= 0)
			return n;
		if (errno != EINTR)
			return -errno;
	}
}

/* What a direct read may fail with although a read through the cache will do: an
 * alignment that the file system did not tell, or no way to do without it. */
static bool is_refusal(ssize_t r)
{
	return r == -EINVAL || r == -EOPNOTSUPP || r == -EAGAIN || r == -EINTR;
}

int file_reader_fill(struct file_reader_job *job, struct file_reader_leaf *leaf)
{
	size_t done;

	if (is_refusal(leaf->got))
		leaf->got = 0;
	if (leaf->got < 0)
		return (int)leaf->got;
	leaf->n_direct = (size_t)leaf->got;
	for (done = leaf->n_direct; done < leaf->len;) {
		ssize_t n = read_at(job->fd, leaf->buffer + done,
				    leaf->len - done, leaf->offset + done);

		if (n < 0)
			return (int)n;
		if (n == 0)
			return -ESTALE;
		done += (size_t)n;
	}
	return 0;
}

static int fetch_buffered(struct file_reader_worker *w,
			  struct file_reader_leaf *leaf)
{
	return file_reader_fill(w->job, leaf);
}

static int fetch_direct(struct file_reader_worker *w,
			struct file_reader_leaf *leaf)
{
	if (leaf->direct_len)
		leaf->got = read_at(w->job->direct_fd, leaf->buffer,
				    leaf->direct_len, leaf->offset);
	return file_reader_fill(w->job, leaf);
}

/* Our own read-ahead: the kernel's would go beyond the leaves whose residency we
 * have asked for, and there we could not tell its pages from others'. */
static void ask_ahead(struct file_reader_worker *w,
		      struct file_reader_leaf *leaf)
{
	if (leaf->residency == RESIDENCY_FULL)
		return;
	for (size_t done = 0; done < leaf->len; done += AHEAD_STEP) {
		size_t left = leaf->len - done;

		(void)posix_fadvise(w->job->fd, (off_t)(leaf->offset + done),
				    (off_t)(left < AHEAD_STEP ? left :
								AHEAD_STEP),
				    POSIX_FADV_WILLNEED);
	}
}

const struct file_reader_ops file_reader_buffered = {
	.way = FILE_READER_BUFFERED,
	.depth = 1,
	.fetch = fetch_buffered,
};

const struct file_reader_ops file_reader_direct = {
	.way = FILE_READER_DIRECT,
	.next = &file_reader_buffered,
	.is_direct = true,
	.depth = 1,
	.fetch = fetch_direct,
};

const struct file_reader_ops file_reader_sequential = {
	.way = FILE_READER_SEQUENTIAL,
	.is_single = true,
	.depth = AHEAD_LEAVES,
	.start = ask_ahead,
	.fetch = fetch_buffered,
};
