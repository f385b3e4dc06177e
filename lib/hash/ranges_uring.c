/* ranges_uring.c - the way that reads with io_uring.
 *
 * Each worker has a ring of its own, so there is nothing to lock.  A read is
 * submitted when its leaf is taken and waited for when it is that leaf's turn;
 * meanwhile the device works on those behind it. */
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "hash/ranges_internal.h"

struct ring {
	struct io_uring uring;
	unsigned n_pending; /* prepared or submitted, not reaped */
};

static int open_ring(struct ranges_worker *w)
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

/* There is room: the ring has as many entries as the worker has leaves.  What the
 * kernel does not accept now is submitted again when it is waited for. */
static void start_read(struct ranges_worker *w, struct ranges_leaf *leaf)
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
	ring->n_pending++;
	(void)io_uring_submit(&ring->uring);
}

/* Waits for a read and takes in all that have ended. */
static int reap(struct ring *ring)
{
	struct io_uring_cqe *cqe;
	int r = io_uring_submit_and_wait(&ring->uring, 1);

	if (r < 0 && r != -EINTR)
		return r;
	while (io_uring_peek_cqe(&ring->uring, &cqe) == 0) {
		struct ranges_leaf *leaf = io_uring_cqe_get_data(cqe);

		leaf->got = cqe->res;
		leaf->pending = false;
		ring->n_pending--;
		io_uring_cqe_seen(&ring->uring, cqe);
	}
	return 0;
}

static int fetch(struct ranges_worker *w, struct ranges_leaf *leaf)
{
	int r = 0;

	while (leaf->pending && r == 0)
		r = reap(w->ring);
	return r < 0 ? r : ranges_fill(w->job, leaf);
}

/* The buffers are unmapped after this: no read may be under way into them. */
static void close_ring(struct ranges_worker *w)
{
	struct ring *ring = w->ring;

	while (ring->n_pending && reap(ring) == 0)
		;
	io_uring_queue_exit(&ring->uring);
	free(ring);
	w->ring = NULL;
}

const struct ranges_ops ranges_uring = {
	.way = RANGES_URING,
	.next = &ranges_direct,
	.is_direct = true,
	.is_single_in_order = true,
	.buffer_each = true,
	.depth = RANGES_DEPTH_MAX,
	.open = open_ring,
	.start = start_read,
	.fetch = fetch,
	.close = close_ring,
};
