/* file_reader_mapped.c - reads cached pages in a mapping, without a copy.
 *
 * Copying a page takes time, and so does mapping it; which is faster depends on the machine
 * (by up to 20 % either way).  So the first leaves are read alternately both ways, and all
 * jobs of the process use the faster one from then on. */
#include <errno.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "hash/read/bus_guard.h"
#include "hash/read/file_reader_internal.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

enum { COPIED, MAPPED, N_KINDS };

enum {
	N_TRIALS = 6, /* of each */
	MARGIN = 16, /* mapping must be faster by one part of so many, because its
		      * end takes time, too */
};

/* Shared by all jobs and threads of the process, without a lock: a lost update costs one
 * more trial. */
static struct {
	_Atomic unsigned n[N_KINDS]; /* trials so far */
	_Atomic int64_t best_ns[N_KINDS]; /* per FILE_READER_LEAF; 0: none */
} trials;

static bool is_decided(void)
{
	return atomic_load(&trials.n[COPIED]) >= N_TRIALS &&
	       atomic_load(&trials.n[MAPPED]) >= N_TRIALS;
}

static bool mapping_wins(void)
{
	int64_t copied = atomic_load(&trials.best_ns[COPIED]);

	return atomic_load(&trials.best_ns[MAPPED]) < copied - copied / MARGIN;
}

static bool is_wanted(const struct file_reader_job *job,
		      const struct file_reader_leaf *leaf)
{
	if (job->options.way == FILE_READER_MAPPED)
		return true;
	return is_decided() ? mapping_wins() :
			      leaf->offset / job->options.leaf % N_KINDS;
}

void file_reader_note_trial(const struct file_reader_job *job,
			    const struct file_reader_leaf *leaf, int64_t ns)
{
	int kind = leaf->is_mapped ? MAPPED : COPIED;
	int64_t best = atomic_load(&trials.best_ns[kind]);

	if (leaf->len != FILE_READER_LEAF ||
	    job->options.way == FILE_READER_MAPPED ||
	    leaf->residency != RESIDENCY_FULL || leaf->is_hole || is_decided())
		return;
	while ((!best || ns < best) &&
	       !atomic_compare_exchange_weak(&trials.best_ns[kind], &best, ns))
		;
	atomic_fetch_add(&trials.n[kind], 1);
}

/* ---- the mapping ---- */

/* Not where copying has won already. */
void file_reader_map(struct file_reader_job *job)
{
	void *p;

	if (job->options.way != FILE_READER_MAPPED && is_decided() &&
	    !mapping_wins())
		return;
	p = mmap(NULL, (size_t)job->size, PROT_READ, MAP_SHARED, job->fd, 0);
	job->map = p == MAP_FAILED ? NULL : p;
}

void file_reader_unmap(struct file_reader_job *job)
{
	if (job->map)
		(void)munmap((void *)job->map, (size_t)job->size);
	job->map = NULL;
}

/* Where the kernel does not do it for us (before Linux 5.14), each page would cost a
 * fault. */
static bool populate(const uint8_t *data, size_t len)
{
	return madvise((void *)data, len, MADV_POPULATE_READ) == 0;
}

static int fetch_mapped(struct file_reader_worker *w,
			struct file_reader_leaf *leaf)
{
	struct file_reader_job *job = w->job;

	if (job->map && leaf->residency == RESIDENCY_FULL &&
	    is_wanted(job, leaf) &&
	    populate(job->map + leaf->offset, leaf->len)) {
		leaf->data = job->map + leaf->offset;
		leaf->is_mapped = true;
		return 0;
	}
	return file_reader_fill(job, leaf);
}

struct looking {
	struct file_reader_worker *worker;
	const struct file_reader_leaf *leaf;
};

static int look(void *ctx)
{
	const struct looking *l = ctx;
	struct file_reader_job *job = l->worker->job;

	return job->sink(job->ctx, l->worker->number, l->leaf->offset,
			 l->leaf->data, l->leaf->len);
}

/* What is gone is read once more: then it is known why. */
int file_reader_sink_mapped(struct file_reader_worker *w,
			    struct file_reader_leaf *leaf)
{
	struct looking l = { w, leaf };
	int r = bus_guard_call(look, &l, leaf->data, leaf->len);

	if (r != -EFAULT)
		return r;
	leaf->data = leaf->buffer;
	r = file_reader_fill(w->job, leaf);
	return r < 0 ? r : look(&l);
}

const struct file_reader_ops file_reader_mapped = {
	.way = FILE_READER_MAPPED,
	.next = &file_reader_buffered,
	.depth = 1,
	.fetch = fetch_mapped,
};
