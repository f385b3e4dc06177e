/* hasher_large.c - how a hasher reads large files; see large_file.h
 *
 *	beside the job		one thread, one read at a time
 *	after its end		as many threads as have nothing else to do
 *
 * Where the kernel does not let an idle worker become a normal one, the caller takes
 * over what the worker has read so far and reads the rest (race() in hasher.c). */
#include <string.h>

#include "hash/jobs/hasher_internal.h"
#include "hash/jobs/large_file.h"

enum { MEMORY = 64 * 1024 * 1024 }; /* for the buffers of all threads */

/* Tasks that are left share the threads.  Idle threads would only make more idle
 * ones. */
static unsigned n_threads(const struct large_file *l)
{
	const struct background_job *job = l->ctx;
	struct hasher *h = job->hasher;
	uint64_t goal = atomic_load(&h->n_goal);
	uint64_t n_left = goal - atomic_load(&h->n_done);
	unsigned n = h->options.n_threads;

	if (!goal || (!job->on_caller && atomic_load(&h->stuck)))
		return 1;
	if (n_left > 1)
		n = n_left < n ? n / (unsigned)n_left : 1;
	return large_file_others(l) && n > 2 ? 2 : n;
}

static bool is_wanted(const struct large_file *l)
{
	const struct background_job *job = l->ctx;

	if (job->on_caller && pthread_equal(pthread_self(), job->thread))
		hasher_tell_progress(job->hasher);
	return background_job_is_wanted(job);
}

/* Beside the job one read at a time is enough: a deep queue would be in the way of
 * its own reads where the disk knows no idle ones. */
static void plan(const struct large_file *l, struct file_reader_options *o)
{
	const struct background_job *job = l->ctx;
	bool foreground = atomic_load(&job->hasher->n_goal);

	o->memory = MEMORY / job->hasher->options.n_threads * l->n_threads;
	o->way = foreground ? FILE_READER_AUTO : FILE_READER_DIRECT;
}

/* While a worker shows its file, the caller may copy what is filled in. */
static void show(const struct background_job *job, struct large_file *l)
{
	if (!job->worker || job->on_caller)
		return;
	(void)pthread_mutex_lock(&job->worker->large_lock);
	job->worker->large = l;
	(void)pthread_mutex_unlock(&job->worker->large_lock);
}

static void copy_prefix(struct large_file *l, const struct large_file *from)
{
	uint64_t n = atomic_load(&from->n_prefix);

	if (large_file_others(l) || !stamp_equal(&from->stamp, &l->stamp))
		return;
	memcpy(l->tree.values, from->tree.values, n * BLAKE3_LEN);
	memset(l->filled, 1, n);
	l->next = n;
	l->taken_ns = from->taken_ns;
	atomic_store(l->offset, n * FILE_READER_LEAF);
}

/* An idle worker may be asleep with the lock: then we begin at the first byte. */
static void begin(struct large_file *l)
{
	const struct background_job *job = l->ctx;
	struct worker *w = job->worker;

	if (w && job->on_caller && pthread_mutex_trylock(&w->large_lock) == 0) {
		if (w->large)
			copy_prefix(l, w->large);
		(void)pthread_mutex_unlock(&w->large_lock);
	}
	show(job, l);
}

static void end(struct large_file *l)
{
	show(l->ctx, NULL);
}

static void keep(const struct large_file *l)
{
	const struct background_job *job = l->ctx;
	const struct hasher_options *o = &job->hasher->options;

	if (o->keep && l->stamp.size >= o->keep_from_bytes)
		o->keep(o->ctx, &l->tree);
}

int background_job_read_large(struct background_job *job,
			      struct file_pass *pass, _Atomic uint64_t *offset,
			      _Atomic uint64_t *n_bytes, struct file_hash *ret)
{
	static const struct large_file_owner owner = {
		n_threads, is_wanted, plan, begin, end, keep,
	};
	struct large_file l = { .owner = &owner,
				.ctx = job,
				.pass = pass,
				.want = job->hasher->options.want |
					DIGEST_SET_BLAKE3,
				.offset = offset,
				.n_bytes = n_bytes };

	return large_file_hash(&l, ret);
}
