/* hasher_large.c - a large file for a hasher, leaf by leaf.
 *
 * The leaves are read by file_reader.h, which leaves the page cache as it was and does
 * not read holes, and joined by the tree driver:
 *
 *	beside the job		one thread, one read at a time
 *	after its end		as many threads as have nothing else to do
 *
 * When hands become free while a file is read, reading stops between two leaves and
 * goes on from there with more threads.  Where the kernel does not let an idle worker
 * become a normal one, the caller takes over what the worker has read so far and
 * reads the rest (race() in hasher.c).  Digests other than BLAKE3 cannot be divided:
 * they are taken in order, beside BLAKE3 on a second thread.
 *
 * The stamp bracket is that of file_pass.h, around all of this. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "hash/blake3/leaf_tree.h"
#include "hash/file/file_pass.h"
#include "hash/jobs/duet.h"
#include "hash/jobs/hasher_internal.h"
#include "hash/read/file_reader.h"

enum {
	MEMORY = 64 * 1024 * 1024, /* for the buffers of all threads */
	WIDEN_BYTES = 32 * 1024 * 1024, /* less is read before threads help */
};

struct large {
	const struct background_job *job;
	struct file_pass *pass;
	struct stamp stamp; /* of this try */
	int64_t taken_ns;
	pthread_t thread; /* whose job it is */
	digest_set others; /* than BLAKE3 */
	_Atomic uint64_t *offset; /* bytes of this try, for the progress */
	_Atomic uint64_t *n_bytes; /* of all files; NULL: they do not count */
	struct leaf_tree tree;
	uint8_t *filled; /* 1 for each leaf that is */
	uint64_t next; /* the first leaf that is not */
	_Atomic uint64_t n_prefix; /* leaves from the first on that are */
	unsigned n_threads; /* that read now */
	atomic_bool widen; /* there could be more */
	atomic_bool shrunk; /* the file has */
	struct duet duet;
};

/* ---- how many threads ---- */

/* Tasks that are left share the threads.  Idle threads would only make more idle
 * ones. */
static unsigned n_hands(const struct large *l)
{
	const struct background_job *job = l->job;
	struct hasher *h = job->hasher;
	uint64_t goal = atomic_load(&h->n_goal);
	uint64_t n_left = goal - atomic_load(&h->n_done);
	unsigned n = h->options.n_threads;

	if (!goal || (!job->on_caller && atomic_load(&h->stuck)))
		return 1;
	if (n_left > 1)
		n = n_left < n ? n / (unsigned)n_left : 1;
	return l->others && n > 2 ? 2 : n;
}

static bool could_be_more(const struct large *l)
{
	return l->stamp.size >= atomic_load(l->offset) + WIDEN_BYTES &&
	       n_hands(l) > l->n_threads;
}

/* A hole is not read, so nobody else would notice. */
static bool has_shrunk(const struct large *l)
{
	struct stat st;

	return fstat(l->pass->fd, &st) == 0 &&
	       (uint64_t)st.st_size < l->stamp.size;
}

static bool is_cancelled(void *ctx)
{
	struct large *l = ctx;

	if (l->job->on_caller && pthread_equal(pthread_self(), l->thread))
		hasher_tell_progress(l->job->hasher);
	if (!background_job_is_wanted(l->job))
		return true;
	if (has_shrunk(l))
		atomic_store(&l->shrunk, true);
	else if (could_be_more(l))
		atomic_store(&l->widen, true);
	return atomic_load(&l->shrunk) || atomic_load(&l->widen);
}

/* ---- reading ---- */

static void count(struct large *l, uint64_t len)
{
	atomic_fetch_add_explicit(l->offset, len, memory_order_relaxed);
	if (l->n_bytes)
		atomic_fetch_add_explicit(l->n_bytes, len,
					  memory_order_relaxed);
}

static int take_leaf(void *ctx, unsigned worker, uint64_t offset,
		     const uint8_t *data, size_t len)
{
	struct large *l = ctx;
	uint64_t index = offset / FILE_READER_LEAF;
	int r = 0;

	(void)worker;
	count(l, len);
	if (l->others) {
		duet_give(&l->duet, index, data, len);
		multihash_update(&l->pass->hash, data, len);
		duet_wait(&l->duet);
	} else {
		r = leaf_tree_fill(&l->tree, index, data, len);
	}
	l->filled[index] = 1;
	if (l->n_threads == 1)
		atomic_store(&l->n_prefix, index + 1);
	return r;
}

/* Beside the job one read at a time is enough: a deep queue would be in the way of
 * its own reads where the disk knows no idle ones. */
static int read_on(struct large *l)
{
	bool foreground = atomic_load(&l->job->hasher->n_goal);
	unsigned n = l->n_threads;
	struct file_reader_options options = {
		.from = l->next * FILE_READER_LEAF,
		.memory = MEMORY / l->job->hasher->options.n_threads * n,
		.n_threads = l->others ? 1 : n,
		.in_order = l->others,
		.way = foreground ? FILE_READER_AUTO : FILE_READER_DIRECT,
		.cancelled = is_cancelled,
	};
	int r;

	if (l->others)
		duet_start(&l->duet, &l->tree, n > 1);
	r = file_reader_read(l->pass->fd, l->stamp.size, &options, take_leaf,
			     l);
	if (l->others)
		duet_end(&l->duet);
	while (l->next < l->tree.n_leaves && l->filled[l->next])
		l->next++;
	return r;
}

static int read_leaves(struct large *l)
{
	int r = 0;

	if (l->stamp.size == 0)
		return leaf_tree_fill(&l->tree, 0, NULL, 0);
	while (l->next < l->tree.n_leaves) {
		atomic_store(&l->widen, false);
		l->n_threads = n_hands(l);
		r = read_on(l);
		if (r != -ECANCELED || !atomic_load(&l->widen) ||
		    atomic_load(&l->shrunk) ||
		    !background_job_is_wanted(l->job))
			break;
	}
	if (r == -ECANCELED && atomic_load(&l->shrunk))
		return -ESTALE;
	/* Of the kernel: not what it means here. */
	return r == -EAGAIN || r == -EBUSY ? -ENOMEM : r;
}

/* ---- taking over ---- */

/* While a worker shows it, the caller may copy what is filled in. */
static void show(const struct background_job *job, struct large *l)
{
	if (!job->worker || job->on_caller)
		return;
	(void)pthread_mutex_lock(&job->worker->large_lock);
	job->worker->large = l;
	(void)pthread_mutex_unlock(&job->worker->large_lock);
}

static void copy_prefix(struct large *l, const struct large *from)
{
	uint64_t n = atomic_load(&from->n_prefix);

	if (l->others || !stamp_equal(&from->stamp, &l->stamp))
		return;
	memcpy(l->tree.values, from->tree.values, n * BLAKE3_LEN);
	memset(l->filled, 1, n);
	l->next = n;
	l->taken_ns = from->taken_ns;
	atomic_store(l->offset, n * FILE_READER_LEAF);
}

/* An idle worker may be asleep with the lock: then we begin at the first byte. */
static void take_over(struct large *l)
{
	struct worker *w = l->job->worker;

	if (!w || !l->job->on_caller ||
	    pthread_mutex_trylock(&w->large_lock) != 0)
		return;
	if (w->large)
		copy_prefix(l, w->large);
	(void)pthread_mutex_unlock(&w->large_lock);
}

/* ---- one file ---- */

static int start_try(struct large *l)
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

static void end_try(struct large *l)
{
	leaf_tree_release(&l->tree);
	free(l->filled);
	l->filled = NULL;
}

static void finish(struct large *l, struct file_hash *ret)
{
	const struct hasher_options *o = &l->job->hasher->options;

	leaf_tree_root(&l->tree, ret->digests.blake3);
	ret->digests.have |= DIGEST_SET_BLAKE3;
	ret->taken_ns = l->taken_ns;
	if (o->keep && l->stamp.size >= o->keep_from_bytes)
		o->keep(o->ctx, &l->tree);
}

/* As file_pass_step(): 1 when the file has changed and is to be read again. */
static int try(struct large *l, struct file_hash *ret)
{
	int r = start_try(l);

	if (r == 0) {
		take_over(l);
		show(l->job, l);
		r = read_leaves(l);
		show(l->job, NULL);
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

int background_job_read_large(const struct background_job *job,
			      struct file_pass *pass, _Atomic uint64_t *offset,
			      _Atomic uint64_t *n_bytes, struct file_hash *ret)
{
	digest_set others = job->hasher->options.want &
			    ~(digest_set)DIGEST_SET_BLAKE3;
	struct large l = { .job = job,
			   .pass = pass,
			   .thread = pthread_self(),
			   .others = others,
			   .offset = offset,
			   .n_bytes = n_bytes };
	int r = file_pass_start(pass, others);

	if (r < 0)
		return r;
	do {
		r = try(&l, ret);
	} while (r > 0);
	file_pass_end(pass);
	return r;
}
