/* memory_hash.c - see memory_hash.h */
#include "hash/digest/memory_hash.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/thread.h"
#include "hash/blake3/leaf_tree.h"
#include "hash/digest/multihash.h"

enum {
	LEAF = B3_LEAF_DEFAULT,
	LARGE_BYTES = 2 * LEAF, /* below, threads are not worth their cost */
	MAX_THREADS = 64, /* they fill the memory bus of any machine */
	LOOK_MS = 100,
};

struct work {
	const uint8_t *data;
	size_t len;
	const struct memory_hash_options *options;
	int64_t look_ns; /* monotonic time of the next look(); caller only */
	/* Each thread fills in the leaves that it takes.  Without leaves the caller
	 * computes BLAKE3. */
	struct leaf_tree tree;
	_Atomic uint64_t next; /* the next leaf; any thread takes it */
	atomic_bool ending; /* set by the caller, read by all threads */
};

/* ---- the calling thread ---- */

static bool goes_on(struct work *w)
{
	const struct memory_hash_options *o = w->options;
	int64_t now;

	if (!o->look)
		return true;
	now = clock_mono_tick_ns();
	if (now >= w->look_ns) {
		w->look_ns = now + LOOK_MS * INT64_C(1000000);
		if (o->look(o->ctx))
			atomic_store(&w->ending, true);
	}
	return !atomic_load_explicit(&w->ending, memory_order_relaxed);
}

/* From the first byte to the last, with a look now and then. */
static int hash_in_order(struct work *w, digest_set want, struct digests *ret)
{
	struct multihash m;
	int r;

	multihash_init(&m);
	r = multihash_start(&m, want, w->len);
	for (size_t at = 0; r == 0 && at < w->len; at += LEAF) {
		multihash_update(&m, w->data + at,
				 w->len - at < LEAF ? w->len - at : LEAF);
		r = goes_on(w) ? 0 : -ECANCELED;
	}
	if (r == 0)
		r = multihash_final(&m, ret);
	multihash_release(&m);
	return r;
}

/* ---- leaves ---- */

static bool take_leaf(struct work *w)
{
	uint64_t i = atomic_fetch_add(&w->next, 1);

	if (i >= w->tree.n_leaves)
		return false;
	/* It is one of its leaves, of the right length: it cannot fail. */
	(void)leaf_tree_fill(&w->tree, i, w->data + i * LEAF,
			     b3_shape_leaf_len(&w->tree.shape, i));
	return true;
}

static void *help(void *arg)
{
	struct work *w = arg;

	(void)pthread_setname_np(pthread_self(), "roar-hash");
	while (!atomic_load_explicit(&w->ending, memory_order_relaxed) &&
	       take_leaf(w))
		;
	return NULL;
}

static int take_part(struct work *w, digest_set others, struct digests *ret)
{
	int r = others ? hash_in_order(w, others, ret) : 0;

	while (r == 0 && take_leaf(w))
		r = goes_on(w) ? 0 : -ECANCELED;
	return r;
}

/* Helpers that cannot be started are not missed. */
static int hash_leaves(struct work *w, unsigned n_threads, struct digests *ret)
{
	digest_set others = w->options->want & ~(digest_set)DIGEST_SET_BLAKE3;
	pthread_t helpers[MAX_THREADS];
	unsigned n = 0;
	int r;

	while (n + 1 < n_threads &&
	       thread_start(&helpers[n], NULL, help, w) == 0)
		n++;
	r = take_part(w, others, ret);
	if (r < 0)
		atomic_store(&w->ending, true);
	while (n > 0)
		(void)pthread_join(helpers[--n], NULL);
	if (r < 0)
		return r;
	leaf_tree_root(&w->tree, ret->blake3);
	ret->have = others | DIGEST_SET_BLAKE3;
	return 0;
}

/* ---- the choice ---- */

static unsigned choose_threads(size_t len,
			       const struct memory_hash_options *options)
{
	unsigned n = options->n_threads;

	if (len < LARGE_BYTES || !(options->want & DIGEST_SET_BLAKE3))
		return 1;
	if (!n)
		n = cpus_allowed();
	if (n > MAX_THREADS)
		n = MAX_THREADS;
	return n < len / LEAF ? n : (unsigned)(len / LEAF);
}

int memory_hash(const void *data, size_t len,
		const struct memory_hash_options *options, struct digests *ret)
{
	struct work w = {
		.data = data,
		.len = len,
		.options = options,
		.look_ns = clock_mono_tick_ns() + LOOK_MS * INT64_C(1000000),
	};
	unsigned n_threads = choose_threads(len, options);
	struct digests d = { 0 };
	int r;

	if (!options->want || options->want >> DIGEST_ALGO_END)
		return -EINVAL;
	if (n_threads > 1 && leaf_tree_init(&w.tree, len, LEAF) == 0)
		r = hash_leaves(&w, n_threads, &d);
	else
		r = hash_in_order(&w, options->want, &d);
	leaf_tree_release(&w.tree);
	if (r == 0)
		*ret = d;
	return r;
}
