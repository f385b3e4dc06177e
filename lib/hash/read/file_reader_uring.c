/* file_reader_uring.c - the way that reads with io_uring.
 *
 * Each worker has a ring of its own, so there is nothing to lock.  A read is
 * submitted when its leaf is taken and waited for when it is that leaf's turn;
 * meanwhile the device works on those behind it.
 *
 * The kernel may refuse to take in a read for a while.  Such a read is prepared, and
 * submitted again later; one that it took in is accepted, and writes into its buffer
 * whatever we do, until its end has been seen. */
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "hash/read/file_reader_internal.h"

struct ring {
	struct io_uring uring;
	unsigned n_prepared;
	unsigned n_accepted; /* and not reaped */
};

static int open_ring(struct file_reader_worker *w)
{
	CLEANUP(freep) struct ring *ring = calloc(1, sizeof(*ring));
	int r;

	if (!ring)
		return -ENOMEM;
	r = io_uring_queue_init(w->job->depth, &ring->uring, 0);
	if (r < 0)
		return r;
	w->ring = TAKE_PTR(ring);
	return 0;
}

/* 0, or a negative errno when none of the prepared reads was accepted. */
static int submit(struct ring *ring)
{
	int n = io_uring_submit(&ring->uring);

	if (n < 0)
		return n;
	ring->n_prepared -= (unsigned)n;
	ring->n_accepted += (unsigned)n;
	return 0;
}

/* There is room: the ring has as many entries as the worker has leaves.  What the
 * kernel does not accept now is submitted again when it is waited for. */
static void start_read(struct file_reader_worker *w,
		       struct file_reader_leaf *leaf)
{
	struct ring *ring = w->ring;
	struct io_uring_sqe *sqe;

	if (leaf->direct_len == 0)
		return;
	sqe = io_uring_get_sqe(&ring->uring);
	if (!sqe)
		return;
	io_uring_prep_read(sqe, w->job->direct_fd, leaf->buffer,
			   (unsigned)leaf->direct_len, leaf->offset);
	io_uring_sqe_set_data(sqe, leaf);
	leaf->pending = true;
	ring->n_prepared++;
	(void)submit(ring);
}

/* Waits for an accepted read and takes in all that have ended. */
static int reap(struct ring *ring)
{
	struct io_uring_cqe *cqe;
	int r = io_uring_wait_cqe(&ring->uring, &cqe);

	if (r < 0)
		return r == -EINTR ? 0 : r;
	do {
		struct file_reader_leaf *leaf = io_uring_cqe_get_data(cqe);

		leaf->got = cqe->res;
		leaf->pending = false;
		ring->n_accepted--;
		io_uring_cqe_seen(&ring->uring, cqe);
	} while (io_uring_peek_cqe(&ring->uring, &cqe) == 0);
	return 0;
}

/* When the kernel has no room for a read, the end of another one makes some. */
static int go_on(struct ring *ring)
{
	int r = ring->n_prepared ? submit(ring) : 0;

	if (ring->n_accepted)
		return reap(ring);
	return r == -EINTR ? 0 : r;
}

static int fetch(struct file_reader_worker *w, struct file_reader_leaf *leaf)
{
	int r = 0;

	while (leaf->pending && r == 0)
		r = go_on(w->ring);
	return r < 0 ? r : file_reader_fill(w->job, leaf);
}

/* Waits until no read is under way.  False: the kernel would not say. */
static bool drain(struct ring *ring)
{
	const struct timespec a_moment = { .tv_nsec = 1000000 };

	while (ring->n_accepted) {
		int r = reap(ring);

		if (r == -EAGAIN || r == -EBUSY || r == -ENOMEM)
			(void)nanosleep(&a_moment, NULL);
		else if (r < 0)
			return false;
	}
	return true;
}

/* The buffers are unmapped after this, unless a read may be under way into them:
 * other memory could be in their place when it ends. */
static void close_ring(struct file_reader_worker *w)
{
	struct ring *ring = w->ring;

	if (!drain(ring))
		atomic_store(&w->job->keep_memory, true);
	io_uring_queue_exit(&ring->uring);
	free(ring);
	w->ring = NULL;
}

const struct file_reader_ops file_reader_uring = {
	.way = FILE_READER_URING,
	.next = &file_reader_direct,
	.is_direct = true,
	.is_single_in_order = true,
	.buffer_each = true,
	.depth = FILE_READER_DEPTH_MAX,
	.open = open_ring,
	.start = start_read,
	.fetch = fetch,
	.close = close_ring,
};
