/* leaf_tree_file.c - see leaf_tree_file.h */
#include "hash/file/leaf_tree_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cpus.h"
#include "base/thread.h"
#include "hash/read/file_reader.h"

enum { THREADS = 8, THREADS_MAX = 64, MEMORY = 64 * 1024 * 1024 };

struct pass {
	int fd;
	struct leaf_tree *fill; /* or NULL */
	const struct leaf_tree *check; /* or NULL */
	const struct leaf_tree_file_options *options;
	/* The atomic fields are shared by the reading threads, without a lock. */
	_Atomic uint64_t n_bytes; /* read by all threads */
	_Atomic uint64_t first_bad; /* index; UINT64_MAX: none yet */
	/* For a part of the file: */
	_Atomic uint64_t next; /* the next leaf to take */
	uint64_t end;
	_Atomic int error; /* the first one */
};

static void note_bad(struct pass *p, uint64_t index)
{
	uint64_t known = atomic_load(&p->first_bad);

	while (index < known &&
	       !atomic_compare_exchange_weak(&p->first_bad, &known, index))
		;
}

static int take_leaf(struct pass *p, uint64_t index, const uint8_t *data,
		     size_t len)
{
	if (p->fill)
		return leaf_tree_fill(p->fill, index, data, len);
	if (!leaf_tree_check(p->check, index, data, len))
		note_bad(p, index);
	return 0;
}

static int look(struct pass *p, bool is_caller, size_t len)
{
	uint64_t n = atomic_fetch_add(&p->n_bytes, len) + len;

	return is_caller && p->options->look &&
			       p->options->look(p->options->ctx, n) ?
		       -ECANCELED :
		       0;
}

/* ---- the whole file ---- */

/* What file_reader.h reads at a time is one leaf of the tree or several. */
static int take_block(void *ctx, unsigned worker, uint64_t offset,
		      const uint8_t *data, size_t len)
{
	struct pass *p = ctx;
	size_t leaf = (p->fill ? p->fill : p->check)->shape.leaf_bytes;
	int r = 0;

	for (size_t at = 0; r == 0 && at < len; at += leaf)
		r = take_leaf(p, (offset + at) / leaf, data + at,
			      len - at < leaf ? len - at : leaf);
	return r < 0 ? r : look(p, worker == 0, len);
}

static int read_all(struct pass *p, const struct b3_shape *shape)
{
	struct file_reader_options options = {
		.leaf = shape->leaf_bytes > FILE_READER_LEAF ?
				shape->leaf_bytes :
				FILE_READER_LEAF,
		.n_threads = p->options->n_threads,
		.may_map = p->options->may_map,
	};

	/* An empty file has a leaf, and nothing to read. */
	if (shape->size_bytes == 0) {
		int r = take_leaf(p, 0, NULL, 0);

		if (r < 0)
			return r;
	}
	return file_reader_read(p->fd, shape->size_bytes, &options, take_block,
				p);
}

int leaf_tree_file_fill(int fd, struct leaf_tree *u,
			const struct leaf_tree_file_options *options)
{
	struct pass p = { .fd = fd, .fill = u, .options = options };

	return read_all(&p, &u->shape);
}

static int verdict(const struct pass *p, int r, uint64_t *ret_index)
{
	if (r < 0 || p->first_bad == UINT64_MAX)
		return r;
	*ret_index = p->first_bad;
	return 1;
}

int leaf_tree_file_check(int fd, const struct leaf_tree *u,
			 const struct leaf_tree_file_options *options,
			 uint64_t *ret_index)
{
	struct pass p = { .fd = fd,
			  .check = u,
			  .options = options,
			  .first_bad = UINT64_MAX };

	return verdict(&p, read_all(&p, &u->shape), ret_index);
}

/* ---- a part ---- */

static int read_exactly(int fd, uint64_t offset, uint8_t *buf, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = pread(fd, buf + at, len - at, (off_t)(offset + at));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ESTALE;
		at += (size_t)n;
	}
	return 0;
}

/* Leaves are dealt out in their order: those before a bad one are with somebody. */
static bool next_leaf(struct pass *p, uint64_t *ret_index)
{
	if (atomic_load(&p->error) < 0 ||
	    atomic_load(&p->first_bad) != UINT64_MAX)
		return false;
	*ret_index = atomic_fetch_add(&p->next, 1);
	return *ret_index < p->end;
}

static int work(struct pass *p, bool is_caller)
{
	const struct b3_shape *shape = &p->check->shape;
	CLEANUP(freep) uint8_t *buf = malloc(shape->leaf_bytes);
	uint64_t index;
	int r = buf ? 0 : -ENOMEM;

	while (r == 0 && next_leaf(p, &index)) {
		size_t len = b3_shape_leaf_len(shape, index);

		r = read_exactly(p->fd, index * shape->leaf_bytes, buf, len);
		if (r == 0)
			r = take_leaf(p, index, buf, len);
		if (r == 0)
			r = look(p, is_caller, len);
	}
	return r;
}

static void *worker_main(void *arg)
{
	struct pass *p = arg;
	int none = 0;
	int r = work(p, false);

	/* Without memory for it, the others do its work. */
	if (r < 0 && r != -ENOMEM)
		(void)atomic_compare_exchange_strong(&p->error, &none, r);
	return NULL;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static unsigned n_workers(const struct pass *p, uint64_t n_leaves)
{
	uint64_t n = p->options->n_threads;

	n = n ? least(n, THREADS_MAX) : least(cpus_allowed(), THREADS);
	n = least(n, MEMORY / p->check->shape.leaf_bytes);
	return (unsigned)least(n, n_leaves);
}

static unsigned start(struct pass *p, pthread_t *threads, unsigned n)
{
	unsigned i = 0;

	while (i < n && thread_start(&threads[i], NULL, worker_main, p) == 0)
		i++;
	return i;
}

int leaf_tree_file_check_part(int fd, const struct leaf_tree *u, uint64_t first,
			      uint64_t end,
			      const struct leaf_tree_file_options *options,
			      uint64_t *ret_index)
{
	struct pass p = { .fd = fd,
			  .check = u,
			  .options = options,
			  .first_bad = UINT64_MAX,
			  .next = first,
			  .end = end };
	pthread_t threads[THREADS_MAX];
	unsigned n;
	int r;

	if (first > end || end > u->n_leaves ||
	    u->shape.leaf_bytes > FILE_READER_LEAF_MAX)
		return -EINVAL;
	n = n_workers(&p, end - first);
	n = n > 1 ? start(&p, threads, n - 1) : 0;
	r = work(&p, true);
	/* The others see it at their next leaf. */
	if (r < 0)
		atomic_store(&p.error, r);
	while (n > 0)
		(void)pthread_join(threads[--n], NULL);
	return verdict(&p, r < 0 ? r : p.error, ret_index);
}
