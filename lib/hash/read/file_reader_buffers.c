/* file_reader_buffers.c - how many workers there are and the memory they read into.
 *
 * All buffers lie in one mapping, in huge pages where the kernel has them: the
 * first touch of memory and the pinning for direct reads go by the page. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "hash/read/file_reader_internal.h"

enum { HUGE_PAGE = 2 * 1024 * 1024 };

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t buffers_of(const struct file_reader_job *job)
{
	return (uint64_t)job->n_workers *
	       (job->ops->buffer_each ? job->depth : 1);
}

/* A worker with a queue has two leaves in it at least, if there is memory for two:
 * the device is to work while the sink does. */
static void plan(struct file_reader_job *job, uint64_t n_buffers)
{
	const struct file_reader_options *o = &job->options;
	const struct file_reader_ops *ops = job->ops;
	uint64_t n_leaves = most(1, (job->size + o->leaf - 1) / o->leaf);
	uint64_t n = least(o->n_threads, least(n_leaves, n_buffers));
	uint64_t depth;

	if (ops->buffer_each)
		n = least(n, most(1, n_buffers / 2));
	if (ops->is_single || (ops->is_single_in_order && o->in_order))
		n = 1;
	depth = ops->depth == 1 ? 1 : most(2, ops->depth / n);
	if (ops->buffer_each)
		depth = least(depth, n_buffers / n);
	job->n_workers = (unsigned)n;
	job->depth = (unsigned)least(depth, n_leaves);
}

static bool is_lent(const struct file_reader_job *job, size_t len)
{
	return job->options.buffer && len <= job->options.buffer_len &&
	       !job->ops->is_direct;
}

/* Before Linux 6.7 a mapping does not begin where a huge page could. */
static int map(struct file_reader_job *job, size_t len, uint8_t **ret_start)
{
	size_t extra = len < HUGE_PAGE ? 0 : HUGE_PAGE;
	uint8_t *p = mmap(NULL, len + extra, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -ENOMEM;
	job->memory = p;
	job->memory_len = len + extra;
	if (extra) {
		p += -(uintptr_t)p & (HUGE_PAGE - 1);
		(void)madvise(p, len, MADV_HUGEPAGE);
	}
	*ret_start = p;
	return 0;
}

static int make_workers(struct file_reader_job *job, uint8_t *buffers)
{
	size_t leaf = job->options.leaf, n_each = job->depth;

	job->workers = calloc(job->n_workers, sizeof(*job->workers));
	job->leaves = calloc(job->n_workers * n_each, sizeof(*job->leaves));
	if (!job->workers || !job->leaves)
		return -ENOMEM;
	for (unsigned i = 0; i < job->n_workers; i++) {
		struct file_reader_worker *w = &job->workers[i];

		w->job = job;
		w->number = i;
		w->leaves = job->leaves + i * n_each;
		for (size_t k = 0; k < n_each; k++) {
			w->leaves[k].buffer = buffers;
			if (job->ops->buffer_each || k == n_each - 1)
				buffers += leaf;
		}
	}
	return 0;
}

int file_reader_get_buffers(struct file_reader_job *job)
{
	uint64_t n = most(1, job->options.memory / job->options.leaf);
	uint8_t *start;
	int r;

	for (;;) {
		plan(job, n);
		n = buffers_of(job);
		if (is_lent(job, n * job->options.leaf))
			return make_workers(job, job->options.buffer);
		r = map(job, n * job->options.leaf, &start);
		if (r == 0)
			return make_workers(job, start);
		if (n == 1)
			return r;
		n /= 2;
	}
}

void file_reader_free_buffers(struct file_reader_job *job)
{
	if (job->memory && !atomic_load(&job->keep_memory))
		(void)munmap(job->memory, job->memory_len);
	free(job->workers);
	free(job->leaves);
	job->memory = NULL;
	job->workers = NULL;
	job->leaves = NULL;
}
