/* large_file.c - see large_file.h */
#include "hash/jobs/large_file.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { WIDEN_BYTES = 32 * 1024 * 1024 }; /* less is read before threads help */

static bool has_blake3(const struct large_file *l)
{
	return l->want & DIGEST_SET_BLAKE3;
}

/* ---- between two leaves ---- */

static bool could_be_more(const struct large_file *l)
{
	return l->stamp.size >= atomic_load(l->offset) + WIDEN_BYTES &&
	       l->owner->n_threads(l) > l->n_threads;
}

/* A hole is not read, so nobody else would notice. */
static bool has_shrunk(const struct large_file *l)
{
	struct stat st;

	return fstat(l->pass->fd, &st) == 0 &&
	       (uint64_t)st.st_size < l->stamp.size;
}

static bool is_cancelled(void *ctx)
{
	struct large_file *l = ctx;

	if (!l->owner->is_wanted(l))
		return true;
	if (has_shrunk(l))
		atomic_store(&l->shrunk, true);
	else if (could_be_more(l))
		atomic_store(&l->widen, true);
	return atomic_load(&l->shrunk) || atomic_load(&l->widen);
}

/* ---- reading ---- */

static void count(struct large_file *l, uint64_t len)
{
	atomic_fetch_add_explicit(l->offset, len, memory_order_relaxed);
	if (l->n_bytes)
		atomic_fetch_add_explicit(l->n_bytes, len,
					  memory_order_relaxed);
}

static int take_leaf(void *ctx, unsigned worker, uint64_t offset,
		     const uint8_t *data, size_t len)
{
	struct large_file *l = ctx;
	uint64_t index = offset / FILE_READER_LEAF;
	int r = 0;

	(void)worker;
	count(l, len);
	if (!large_file_others(l)) {
		r = leaf_tree_fill(&l->tree, index, data, len);
	} else {
		if (has_blake3(l))
			duet_give(&l->duet, index, data, len);
		multihash_update(&l->pass->hash, data, len);
		if (has_blake3(l))
			duet_wait(&l->duet);
	}
	l->filled[index] = 1;
	if (l->n_threads == 1)
		atomic_store(&l->n_prefix, index + 1);
	return r;
}

static int read_on(struct large_file *l)
{
	bool in_order = large_file_others(l);
	struct file_reader_options options = {
		.from = l->next * FILE_READER_LEAF,
		.n_threads = in_order ? 1 : l->n_threads,
		.in_order = in_order,
		.cancelled = is_cancelled,
	};
	int r;

	l->owner->plan(l, &options);
	if (in_order && has_blake3(l))
		duet_start(&l->duet, &l->tree, l->n_threads > 1);
	r = file_reader_read(l->pass->fd, l->stamp.size, &options, take_leaf,
			     l);
	if (in_order && has_blake3(l))
		duet_end(&l->duet);
	while (l->next < l->tree.n_leaves && l->filled[l->next])
		l->next++;
	return r;
}

static int read_leaves(struct large_file *l)
{
	int r = 0;

	if (l->stamp.size == 0)
		return leaf_tree_fill(&l->tree, 0, NULL, 0);
	while (l->next < l->tree.n_leaves) {
		atomic_store(&l->widen, false);
		l->n_threads = l->owner->n_threads(l);
		r = read_on(l);
		if (r != -ECANCELED || !atomic_load(&l->widen) ||
		    atomic_load(&l->shrunk) || !l->owner->is_wanted(l))
			break;
	}
	if (r == -ECANCELED && atomic_load(&l->shrunk))
		return -ESTALE;
	/* Of the kernel: not what it means here. */
	return r == -EAGAIN || r == -EBUSY ? -ENOMEM : r;
}

/* ---- one try ---- */

static int start_try(struct large_file *l)
{
	int r;

	l->stamp = l->pass->stamp;
	l->taken_ns = l->pass->taken_ns;
	l->next = 0;
	atomic_store(&l->n_prefix, 0);
	atomic_store(&l->shrunk, false);
	atomic_store(l->offset, 0);
	r = leaf_tree_init(&l->tree, l->stamp.size, FILE_READER_LEAF);
	if (r < 0)
		return r;
	l->filled = calloc(l->tree.n_leaves, 1);
	return l->filled ? 0 : -ENOMEM;
}

static void end_try(struct large_file *l)
{
	leaf_tree_release(&l->tree);
	free(l->filled);
	l->filled = NULL;
}

static void finish(struct large_file *l, struct file_hash *ret)
{
	ret->taken_ns = l->taken_ns;
	if (!has_blake3(l))
		return;
	leaf_tree_root(&l->tree, ret->digests.blake3);
	ret->digests.have |= DIGEST_SET_BLAKE3;
	if (l->owner->keep)
		l->owner->keep(l);
}

/* As file_pass_step(): 1 when the file has changed and is to be read again. */
static int try(struct large_file *l, struct file_hash *ret)
{
	int r = start_try(l);

	if (r == 0) {
		if (l->owner->begin)
			l->owner->begin(l);
		r = read_leaves(l);
		if (l->owner->end)
			l->owner->end(l);
	}
	if (r == 0 || r == -ESTALE) {
		l->pass->offset = r == 0 ? l->stamp.size : UINT64_MAX;
		r = file_pass_settle(l->pass, ret);
	}
	if (r == 0)
		finish(l, ret);
	end_try(l);
	return r;
}

int large_file_hash(struct large_file *l, struct file_hash *ret)
{
	int r;

	assert(l->owner && l->pass && l->offset && l->want);
	r = file_pass_start(l->pass, large_file_others(l));
	if (r < 0)
		return r;
	do {
		r = try(l, ret);
	} while (r > 0);
	file_pass_end(l->pass);
	return r;
}
