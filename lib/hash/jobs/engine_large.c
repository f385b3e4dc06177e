/* engine_large.c - one large file, leaf by leaf; see engine.h */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "hash/digest/multihash.h"
#include "hash/file/file_pass.h"
#include "hash/jobs/duet.h"
#include "hash/jobs/engine_internal.h"
#include "hash/read/file_reader.h"

struct large {
	struct engine_worker *worker;
	struct engine *engine;
	struct leaf_tree tree; /* BLAKE3, if it is wanted */
	bool blake3;
	struct multihash others; /* the other digests */
	bool has_others;
	struct duet duet;
};

static bool is_cancelled(void *ctx)
{
	const struct large *l = ctx;

	return !engine_goes_on(l->engine);
}

static int take_leaf(void *ctx, unsigned worker, uint64_t offset,
		     const uint8_t *data, size_t len)
{
	struct large *l = ctx;
	uint64_t index = offset / FILE_READER_LEAF;

	(void)worker;
	atomic_fetch_add_explicit(&l->engine->bytes_read, len,
				  memory_order_relaxed);
	if (!l->has_others)
		return leaf_tree_fill(&l->tree, index, data, len);
	if (l->blake3)
		duet_give(&l->duet, index, data, len);
	multihash_update(&l->others, data, len);
	if (l->blake3)
		duet_wait(&l->duet);
	return 0;
}

static int read_leaves(struct large *l, int fd, uint64_t size,
		       unsigned n_threads, size_t memory)
{
	struct file_reader_options options = {
		.memory = memory,
		.n_threads = l->has_others ? 1 : n_threads,
		.in_order = l->has_others,
		.may_map = l->engine->options->may_map && !l->has_others,
		.cancelled = is_cancelled,
		.buffer = l->worker->leaf,
		.buffer_len = FILE_READER_LEAF,
	};
	int r;

	if (l->has_others && l->blake3)
		duet_start(&l->duet, &l->tree, n_threads > 1);
	r = file_reader_read(fd, size, &options, take_leaf, l);
	if (l->has_others && l->blake3)
		duet_end(&l->duet);
	return r;
}

static int finish(struct large *l, struct digests *ret)
{
	struct digests d = { 0 };
	int r = l->has_others ? multihash_final(&l->others, &d) : 0;

	if (r < 0)
		return r;
	if (l->blake3) {
		leaf_tree_root(&l->tree, d.blake3);
		d.have |= DIGEST_SET_BLAKE3;
	}
	*ret = d;
	return 0;
}

/* The stamp before, all leaves, the stamp after: 0, -ESTALE when they differ. */
static int hash_once(struct large *l, int fd, unsigned n_threads, size_t memory,
		     digest_set want, struct file_hash *hash)
{
	uint64_t size = hash->stamp.size;
	struct stamp after;
	struct stat st;
	int r = 0;

	if (l->blake3)
		r = leaf_tree_init(&l->tree, size, FILE_READER_LEAF);
	if (r == 0 && l->has_others)
		r = multihash_start(&l->others,
				    want & ~(digest_set)DIGEST_SET_BLAKE3,
				    size);
	if (r == 0)
		r = read_leaves(l, fd, size, n_threads, memory);
	if (r == -EAGAIN ||
	    r == -EBUSY) /* of the kernel: not what it means here */
		r = -ENOMEM;
	if (r == 0 && fstat(fd, &st) < 0)
		r = -errno;
	if (r == 0) {
		after = stamp_of(&st);
		r = stamp_equal(&after, &hash->stamp) ? 0 : -ESTALE;
	}
	if (r == 0)
		r = finish(l, &hash->digests);
	leaf_tree_release(&l->tree);
	return r;
}

/* Looks again at a file that has changed. */
static int look_again(int fd, struct file_hash *hash)
{
	struct stat st;

	hash->taken_ns = clock_now_ns();
	if (fstat(fd, &st) < 0)
		return -errno;
	hash->stamp = stamp_of(&st);
	return S_ISREG(st.st_mode) ? 0 : -EINVAL;
}

int large_hash(struct engine_worker *w, struct engine_file *file,
	       unsigned n_threads, size_t memory)
{
	digest_set want = w->engine->options->want;
	struct stamp looked_at = file->hash.stamp;
	struct large l = {
		.worker = w,
		.engine = w->engine,
		.blake3 = want & DIGEST_SET_BLAKE3,
		.has_others = want & ~(digest_set)DIGEST_SET_BLAKE3,
	};
	CLEANUP(closep)
	int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int r = -ESTALE;

	if (fd < 0) /* ENXIO: a socket took its place */
		return errno == ENXIO ? -EINVAL : -errno;
	if (!w->leaf)
		w->leaf = aligned_alloc(FILE_READER_LEAF, FILE_READER_LEAF);
	multihash_init(&l.others);
	for (int i = 0; r == -ESTALE && i < PASS_TRIES; i++) {
		r = i ? look_again(fd, &file->hash) : 0;
		if (r == 0)
			r = hash_once(&l, fd, n_threads, memory, want,
				      &file->hash);
	}
	multihash_release(&l.others);
	if (r < 0)
		return r == -ESTALE ? -EAGAIN : r;
	return engine_check_file(file, &looked_at);
}
