/* ckpt_writer.c - see ckpt_writer.h */
#include "ckpt/ckpt_writer.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/thread.h"
#include "base/vec.h"
#include "ckpt/ckpt_slots.h"

enum {
	LEAF = B3_LEAF_DEFAULT,
	MAX_THREADS = 64,
	HUGE_PAGE = 2 << 20,
};

#define IN_BASE UINT64_MAX /* the leaf is where the base has it */

struct writing {
	const struct ckpt_writer_options *o;
	struct leaf_tree tree;
	uint64_t size_bytes;
	size_t block_bytes;
	struct blob_writer *file; /* of a full save */
	struct ckpt_slots slots; /* of a delta */
	uint64_t *places; /* of a delta: offset of each leaf, or IN_BASE */
	_Atomic uint64_t next_block;
	pthread_mutex_t lock; /* of the two below */
	int error; /* the first one; ends all threads */
	struct roar_error why;
};

static void fail(struct writing *w, int r, const struct roar_error *why)
{
	(void)pthread_mutex_lock(&w->lock);
	if (!w->error) {
		w->error = r;
		w->why = *why;
	}
	(void)pthread_mutex_unlock(&w->lock);
}

static bool is_over(struct writing *w)
{
	bool over;

	(void)pthread_mutex_lock(&w->lock);
	if (!w->error && atomic_load(&w->o->progress->stop)) {
		w->error = -ECANCELED;
		(void)error_set(&w->why, -ECANCELED, "the save was cancelled");
	}
	over = w->error != 0;
	(void)pthread_mutex_unlock(&w->lock);
	return over;
}

/* ---- blocks ---- */

/* Large pages spare most of the time for the first use of the memory. */
static char *new_buffer(size_t len)
{
	size_t rounded = (len + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	char *buffer = aligned_alloc(HUGE_PAGE, rounded);

	if (buffer)
		(void)madvise(buffer, rounded, MADV_HUGEPAGE);
	return buffer;
}

/* Has the base the same leaf?  Equal values of equal lengths are equal bytes. */
static bool is_in_base(const struct writing *w, uint64_t leaf)
{
	const struct leaf_tree *base = w->o->base->tree;

	return leaf < base->n_leaves &&
	       b3_shape_leaf_len(&base->shape, leaf) ==
		       b3_shape_leaf_len(&w->tree.shape, leaf) &&
	       memcmp(base->values + leaf * BLAKE3_LEN,
		      w->tree.values + leaf * BLAKE3_LEN, BLAKE3_LEN) == 0;
}

static int put_leaf(struct writing *w, uint64_t leaf, const char *data,
		    size_t len, struct roar_error *err)
{
	int r = leaf_tree_fill(&w->tree, leaf, data, len);

	assert(r == 0);
	if (!w->o->base)
		return r;
	if (is_in_base(w, leaf)) {
		w->places[leaf] = IN_BASE;
		return 0;
	}
	return ckpt_slots_put(&w->slots, data, len, &w->places[leaf], err);
}

static int write_block(struct writing *w, uint64_t offset, char *buffer,
		       size_t len, struct roar_error *err)
{
	int r = ckpt_gather_copy(w->o->source, offset, buffer, len);

	if (r < 0)
		return error_set(err, r, "a tensor could not be read: %s",
				 strerror(-r));
	for (size_t at = 0; r == 0 && at < len; at += LEAF)
		r = put_leaf(w, (offset + at) / LEAF, buffer + at,
			     len - at < LEAF ? len - at : LEAF, err);
	if (r == 0 && !w->o->base)
		r = blob_write(w->file, offset, buffer, len, err);
	if (r == 0)
		atomic_fetch_add(&w->o->progress->done_bytes, len);
	return r;
}

static void *write_blocks(void *arg)
{
	struct writing *w = arg;
	CLEANUP(freep) char *buffer = new_buffer(w->block_bytes);
	struct roar_error err = { "" };
	int r = buffer ? 0 : -ENOMEM;

	while (r == 0 && !is_over(w)) {
		uint64_t offset = atomic_fetch_add(&w->next_block, 1) *
				  w->block_bytes;
		uint64_t left = w->size_bytes - offset;

		if (offset >= w->size_bytes)
			break;
		r = write_block(w, offset, buffer,
				left < w->block_bytes ? (size_t)left :
							w->block_bytes,
				&err);
	}
	if (r < 0)
		fail(w, r, &err);
	return NULL;
}

static unsigned thread_count(const struct writing *w)
{
	const struct ckpt_writer_options *o = w->o;
	uint64_t n = o->n_threads ? o->n_threads : blob_parallel(o->store);
	uint64_t n_blocks = (w->size_bytes + w->block_bytes - 1) /
			    w->block_bytes;
	uint64_t affordable = o->budget_bytes / (2 * w->block_bytes);

	n = n < n_blocks ? n : n_blocks;
	n = n < affordable ? n : affordable;
	n = n < MAX_THREADS ? n : MAX_THREADS;
	return n ? (unsigned)n : 1;
}

/* The calling thread writes too, so that no failure to start another matters. */
static int run_threads(struct writing *w, struct roar_error *err)
{
	pthread_t threads[MAX_THREADS];
	unsigned wanted = thread_count(w), n = 0;

	while (n + 1 < wanted &&
	       thread_start(&threads[n], NULL, write_blocks, w) == 0)
		n++;
	(void)write_blocks(w);
	while (n)
		(void)pthread_join(threads[--n], NULL);
	if (w->error && err)
		*err = w->why;
	return w->error;
}

/* ---- where the leaves are ---- */

struct extents {
	struct ckpt_extent *list;
	size_t n, cap;
	uint32_t leaf_bytes;
};

/* Adds a leaf, which often continues the last extent. */
static int add_extent(struct extents *e, uint64_t leaf, const char *path,
		      uint64_t offset)
{
	struct ckpt_extent *last = e->n ? &e->list[e->n - 1] : NULL;

	if (last && strcmp(last->path, path) == 0 &&
	    last->offset + last->n_leaves * e->leaf_bytes == offset) {
		last->n_leaves++;
		return 0;
	}
	last = VEC_PUSH(e->list, e->n, e->cap);
	if (!last)
		return -ENOMEM;
	*last = (struct ckpt_extent){ leaf, 1, path, offset };
	return 0;
}

/* Walks along the extents of the base. */
static int add_extents(const struct writing *w, const char *path,
		       struct extents *ret)
{
	const struct ckpt_extent *from = w->o->base ?
						 w->o->base->file->extents :
						 NULL;
	int r = 0;

	for (uint64_t leaf = 0; r == 0 && leaf < w->tree.n_leaves; leaf++) {
		if (!w->o->base) {
			r = add_extent(ret, leaf, path, leaf * LEAF);
		} else if (w->places[leaf] != IN_BASE) {
			r = add_extent(ret, leaf, path, w->places[leaf]);
		} else {
			while (leaf >= from->first_leaf + from->n_leaves)
				from++;
			r = add_extent(ret, leaf, from->path,
				       from->offset +
					       (leaf - from->first_leaf) * LEAF);
		}
	}
	return r;
}

static int set_extents(const struct writing *w, struct pool *pool,
		       const char *path, struct ckpt_file *ret)
{
	struct extents found = { .leaf_bytes = LEAF };
	int r = add_extents(w, path, &found);

	if (r == 0) {
		ret->extents = pool_alloc(pool,
					  (found.n + 1) * sizeof(*found.list));
		r = ret->extents ? 0 : -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < found.n; i++) {
		ret->extents[i] = found.list[i];
		ret->extents[i].path = pool_strdup(pool, found.list[i].path);
		r = ret->extents[i].path ? 0 : -ENOMEM;
	}
	ret->n_extents = found.n;
	free(found.list);
	return r;
}

/* ---- the whole ---- */

static int begin(struct writing *w, const char *path, struct roar_error *err)
{
	const struct ckpt_writer_options *o = w->o;
	int r = leaf_tree_init(&w->tree, w->size_bytes, LEAF);

	if (r < 0)
		return r;
	if (!o->base)
		return blob_create(o->store, path, w->size_bytes, &w->file,
				   err);
	w->places = calloc(w->tree.n_leaves, sizeof(*w->places));
	return w->places ? 0 : -ENOMEM;
}

static int finish(struct writing *w, uint64_t *ret_data_bytes,
		  struct roar_error *err)
{
	uint8_t blake3[BLAKE3_LEN];

	if (w->o->base)
		return ckpt_slots_finish(&w->slots, ret_data_bytes, err);
	/* The data file is the logical file, so its digest is known. */
	leaf_tree_root(&w->tree, blake3);
	blob_set_digest(w->file, blake3);
	*ret_data_bytes = w->size_bytes;
	return blob_finish(TAKE_PTR(w->file), w->size_bytes, err);
}

static int describe(struct writing *w, struct pool *pool, const char *path,
		    struct ckpt_file *ret)
{
	struct ckpt_name tree = w->o->name;
	char name[CKPT_NAME_SIZE];

	ret->rank = w->o->name.rank;
	ret->size_bytes = w->size_bytes;
	ret->leaf_bytes = LEAF;
	leaf_tree_root(&w->tree, ret->blake3);
	tree.kind = CKPT_NAME_TREE;
	ckpt_name_file(name, &tree);
	ret->tree = pool_strdup(pool, name);
	ckpt_name_file(name, &w->o->name);
	ret->name = ret->data_bytes ? pool_strdup(pool, name) : NULL;
	if (!ret->tree || (ret->data_bytes && !ret->name))
		return -ENOMEM;
	return set_extents(w, pool, path, ret);
}

static int run(struct writing *w, const char *path, struct pool *pool,
	       struct ckpt_file *ret, struct roar_error *err)
{
	int r = begin(w, path, err);

	if (r == 0)
		r = run_threads(w, err);
	*ret = (struct ckpt_file){ 0 };
	if (r == 0)
		r = finish(w, &ret->data_bytes, err);
	if (r < 0)
		return r;
	r = describe(w, pool, path, ret);
	if (r < 0 && ret->data_bytes)
		(void)blob_remove(w->o->store, path, NULL);
	return r;
}

int ckpt_writer_run(const struct ckpt_writer_options *options,
		    struct pool *pool, struct ckpt_file *ret,
		    struct leaf_tree *ret_tree, struct roar_error *err)
{
	struct writing w = { .o = options,
			     .size_bytes = options->source->layout.size_bytes,
			     .lock = PTHREAD_MUTEX_INITIALIZER };
	char path[CKPT_NAME_SIZE];
	int r;

	w.block_bytes = blob_block_bytes(options->store, w.size_bytes);
	ckpt_name_path(path, options->step, &options->name);
	ckpt_slots_init(&w.slots, options->store, path, LEAF, w.block_bytes);
	atomic_store(&options->progress->total_bytes, w.size_bytes);
	r = run(&w, path, pool, ret, err);
	blob_abandon(w.file);
	ckpt_slots_release(&w.slots);
	free(w.places);
	if (r < 0)
		leaf_tree_release(&w.tree);
	else
		*ret_tree = w.tree;
	return r;
}
