/* file_reader_work.c - the loop of a worker, the threads, and the order.
 *
 * The first failure ends the job: everybody sees it before the next leaf, and
 * those who wait for their turn are woken. */
#include <errno.h>

#include "base/clock.h"
#include "base/thread.h"
#include "hash/read/file_reader_internal.h"

void file_reader_stop(struct file_reader_job *job, int r)
{
	int none = 0;

	(void)pthread_mutex_lock(&job->lock);
	(void)atomic_compare_exchange_strong(&job->result, &none, r);
	(void)pthread_cond_broadcast(&job->turned);
	(void)pthread_mutex_unlock(&job->lock);
}

/* Leaves are taken in order and every taker comes here sooner or later, so the
 * turn always reaches the one who waits. */
static int wait_turn(struct file_reader_job *job, uint64_t offset)
{
	int r;

	(void)pthread_mutex_lock(&job->lock);
	while (job->turn != offset && !atomic_load(&job->result))
		(void)pthread_cond_wait(&job->turned, &job->lock);
	r = atomic_load(&job->result);
	(void)pthread_mutex_unlock(&job->lock);
	return r;
}

static void pass_turn(struct file_reader_job *job, uint64_t offset)
{
	(void)pthread_mutex_lock(&job->lock);
	job->turn = offset;
	(void)pthread_cond_broadcast(&job->turned);
	(void)pthread_mutex_unlock(&job->lock);
}

static int call_sink(struct file_reader_worker *w,
		     struct file_reader_leaf *leaf)
{
	const uint8_t *data = leaf->is_hole ? file_reader_zeros() : leaf->data;
	struct file_reader_job *job = w->job;
	int r = 0;

	if (job->options.in_order)
		r = wait_turn(job, leaf->offset);
	if (r == 0)
		r = leaf->is_mapped ? file_reader_sink_mapped(w, leaf) :
				      job->sink(job->ctx, w->number,
						leaf->offset, data, leaf->len);
	if (r < 0)
		return r;
	if (job->options.in_order)
		pass_turn(job, leaf->offset + leaf->len);
	return 0;
}

/* Leaves the page cache as it was.  A direct read brought nothing in, but a probe
 * may have. */
static void restore_cache(struct file_reader_job *job,
			  const struct file_reader_leaf *leaf)
{
	size_t page = residency_page();
	size_t from = job->means == RESIDENCY_PROBE ? 0 : leaf->n_direct / page;
	uint64_t offset = leaf->offset + from * page;
	size_t len = leaf->len - from * page;

	if (leaf->is_hole || from * page == leaf->len)
		return;
	if (leaf->residency == RESIDENCY_NONE) {
		residency_drop(job->fd, offset, len);
	} else if (leaf->residency == RESIDENCY_PARTLY) {
		if (job->means == RESIDENCY_PROBE)
			residency_end_probe(job->fd, offset, len);
		residency_drop_pages(job->fd, offset, len, leaf->pages + from);
	}
}

static void count(struct file_reader_job *job,
		  const struct file_reader_leaf *leaf)
{
	if (leaf->is_hole) {
		atomic_fetch_add(&job->bytes_hole, leaf->len);
		return;
	}
	if (leaf->is_mapped) {
		atomic_fetch_add(&job->bytes_mapped, leaf->len);
		return;
	}
	atomic_fetch_add(&job->bytes_direct, leaf->n_direct);
	atomic_fetch_add(&job->bytes_buffered, leaf->len - leaf->n_direct);
}

static int hand_out(struct file_reader_worker *w, struct file_reader_leaf *leaf)
{
	struct file_reader_job *job = w->job;
	int64_t start_ns = clock_mono_ns();
	int r = 0;

	if (job->options.cancelled && job->options.cancelled(job->ctx))
		return -ECANCELED;
	leaf->data = leaf->buffer;
	leaf->is_mapped = false;
	if (!leaf->is_hole)
		r = job->ops->fetch(w, leaf);
	if (r < 0)
		return r;
	count(job, leaf);
	r = call_sink(w, leaf);
	if (job->map)
		file_reader_note_trial(job, leaf, clock_mono_ns() - start_ns);
	restore_cache(job, leaf);
	return r;
}

static void take_ahead(struct file_reader_worker *w)
{
	struct file_reader_job *job = w->job;

	while (w->n_taken < job->depth) {
		unsigned i = (w->first + w->n_taken) % job->depth;

		if (!file_reader_take(job, &w->leaves[i]))
			return;
		w->n_taken++;
		if (job->ops->start && !w->leaves[i].is_hole)
			job->ops->start(w, &w->leaves[i]);
	}
}

static void work(struct file_reader_worker *w)
{
	struct file_reader_job *job = w->job;

	while (!atomic_load(&job->result)) {
		int r;

		take_ahead(w);
		if (w->n_taken == 0)
			return;
		r = hand_out(w, &w->leaves[w->first]);
		if (r < 0)
			file_reader_stop(job, r);
		w->first = (w->first + 1) % job->depth;
		w->n_taken--;
	}
}

/* A worker that cannot open its way leaves the leaves to the others: the first one
 * has opened it already. */
static void *worker_main(void *arg)
{
	struct file_reader_worker *w = arg;
	const struct file_reader_ops *ops = w->job->ops;

	(void)pthread_setname_np(pthread_self(), "roar-reader");
	if (ops->open && ops->open(w) < 0)
		return NULL;
	work(w);
	if (ops->close)
		ops->close(w);
	return NULL;
}

static unsigned start_threads(struct file_reader_job *job)
{
	unsigned n = 1;

	while (n < job->n_workers &&
	       thread_start(&job->workers[n].thread, NULL, worker_main,
			    &job->workers[n]) == 0)
		n++;
	return n;
}

void file_reader_work(struct file_reader_job *job)
{
	unsigned n = start_threads(job);

	work(&job->workers[0]);
	for (unsigned i = 1; i < n; i++)
		(void)pthread_join(job->workers[i].thread, NULL);
}
