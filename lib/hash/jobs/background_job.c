/* background_job.c - hashing one file for a hasher; see hasher_internal.h */
#include <fcntl.h>

#include "base/clock.h"
#include "base/proc.h"
#include "hash/file/file_pass.h"
#include "hash/jobs/futex.h"
#include "hash/jobs/hasher_internal.h"
#include "hash/read/cache_visit.h"

void hasher_publish(struct hasher *h, struct hash_task *task,
		    const struct outcome *o)
{
	task->result = o->result;
	task->cached = o->cached;
	task->hash = o->hash;
	task->fd = -1;
	atomic_fetch_add(&h->bytes_settled, task->size_bytes);
	atomic_store(&task->state, HASH_DONE);

	atomic_fetch_add(&h->n_done, 1);
	if (atomic_load(&h->waiting))
		futex_bump(&h->done, 1);
}

/* The name of a descriptor leads to its file even when that has no other any more. */
static bool ask_cache(const struct background_job *job,
		      const struct file_pass *pass, struct digests *ret)
{
	struct hasher *h = job->hasher;
	struct stability *stability = job->on_caller ? &h->stability :
						       &job->worker->stability;
	digest_set want = h->options.want;

	return h->options.lookup &&
	       !stamp_is_racy(&pass->stamp, pass->taken_ns) &&
	       stability_trusts_stamps(stability,
				       job->fd < 0 ? job->path :
						     proc_fd_path(job->fd).text,
				       pass->stamp.dev) &&
	       h->options.lookup(h->options.ctx, &pass->stamp, want, ret) &&
	       (ret->have & want) == want;
}

static uint64_t at_most(uint64_t n, uint64_t max)
{
	return n < max ? n : max;
}

/* A task that a worker shows is not done, so it is still there: only the caller's
 * thread, which is here, frees tasks. */
void hasher_get_progress(struct hasher *h, struct hasher_progress *ret)
{
	uint64_t n_bytes = atomic_load(&h->bytes_settled);

	if (h->mine)
		n_bytes += at_most(atomic_load(&h->offset),
				   h->mine->size_bytes);
	for (unsigned i = 0; i < h->n_workers; i++) {
		struct worker *w = &h->workers[i];
		struct hash_task *task = atomic_load(&w->task);

		if (task && task != h->mine)
			n_bytes += at_most(atomic_load(&w->offset),
					   task->size_bytes);
	}
	*ret = (struct hasher_progress){
		.n_done = atomic_load(&h->n_done),
		.n_submitted = h->n_submitted,
		.bytes_done = at_most(n_bytes, h->bytes_submitted),
		.bytes_submitted = h->bytes_submitted,
		.bytes_read = atomic_load(&h->bytes_done),
	};
}

void hasher_tell_progress(struct hasher *h)
{
	struct hasher_progress p;
	int64_t now_ns;

	if (!h->progress)
		return;
	now_ns = clock_mono_ns();
	if (now_ns < h->progress_ns)
		return;
	h->progress_ns = now_ns + PROGRESS_MS * INT64_C(1000000);
	hasher_get_progress(h, &p);
	h->progress(h->progress_ctx, &p);
}

bool background_job_is_wanted(const struct background_job *job)
{
	if (job->worker && atomic_load(&job->worker->task) != job->task)
		return false;
	return !atomic_load_explicit(&job->hasher->ending,
				     memory_order_relaxed);
}

static bool goes_on(const struct background_job *job)
{
	if (job->on_caller)
		hasher_tell_progress(job->hasher);
	return background_job_is_wanted(job);
}

/* What is left in the page cache by reading the file is no more than was put there a
 * moment ago by writing it; to find out costs as much as to read it. */
static bool is_cached_anyway(const struct file_pass *pass)
{
	enum { SMALL_BYTES = 64 * 1024 };
	const int64_t moment_ns = INT64_C(5000000000);

	return pass->stamp.size <= SMALL_BYTES &&
	       pass->taken_ns - pass->stamp.mtime_ns < moment_ns;
}

static int read_steps(const struct background_job *job, struct file_pass *pass,
		      _Atomic uint64_t *offset, _Atomic uint64_t *n_bytes,
		      struct file_hash *ret)
{
	bool alone = atomic_load(&job->hasher->n_goal) &&
		     !is_cached_anyway(pass);
	struct cache_visit visit;
	int r;

	/* What comes into the cache beside the job may be the job's. */
	if (alone)
		cache_visit_begin(&visit, pass->fd, pass->stamp.size);
	do {
		atomic_store_explicit(offset, pass->offset,
				      memory_order_relaxed);
		r = goes_on(job) ? file_pass_step(pass, n_bytes, ret) :
				   -ECANCELED;
	} while (r > 0);
	if (alone)
		cache_visit_end(&visit);
	file_pass_end(pass);
	return r;
}

/* The caller takes a worker's task over. */
static bool is_race(const struct background_job *job)
{
	return job->on_caller && job->worker;
}

/* Is it to be read past the page cache?  Beside the job that is dearer for a file of
 * medium size, and does not fill the memory with what only we read. */
static bool is_cold(const struct background_job *job,
		    const struct file_pass *pass)
{
	enum residency_means means;

	if (pass->stamp.size < MEDIUM_BYTES ||
	    atomic_load(&job->hasher->n_goal))
		return false;
	means = residency_find_means(pass->fd);
	return means != RESIDENCY_PROBE &&
	       residency_ask(pass->fd, means, 0, pass->stamp.size) !=
		       RESIDENCY_FULL;
}

static bool is_large(const struct hasher_options *o, uint64_t size)
{
	return size >= LARGE_BYTES || (o->keep && size >= o->keep_from_bytes);
}

/* What both runners of a race read counts once, for the worker. */
static int read_file(struct background_job *job, struct file_pass *pass,
		     struct file_hash *ret)
{
	_Atomic uint64_t *n_bytes = is_race(job) ? NULL :
						   &job->hasher->bytes_done;
	_Atomic uint64_t *offset = job->on_caller ? &job->hasher->offset :
						    &job->worker->offset;
	int r;

	if (is_large(&job->hasher->options, pass->stamp.size))
		return background_job_read_large(job, pass, offset, n_bytes,
						 ret);
	r = file_pass_start(pass, job->hasher->options.want);
	if (r < 0)
		return r;
	if (is_cold(job, pass)) {
		if (pass->path)
			file_pass_end(pass);
		return background_job_read_large(job, pass, offset, n_bytes,
						 ret);
	}
	return read_steps(job, pass, offset, n_bytes, ret);
}

struct outcome background_job_run(struct background_job *job)
{
	struct file_pass *pass = file_pass_local();
	struct outcome o = { .result = -ENOMEM };

	job->thread = pthread_self();
	if (!pass)
		return o;
	o.result = job->fd >= 0 ? file_pass_look_fd(pass, job->fd) :
				  file_pass_look(pass, AT_FDCWD, job->path);
	if (o.result < 0)
		return o;
	if (ask_cache(job, pass, &o.hash.digests)) {
		o.cached = true;
		o.hash.stamp = pass->stamp;
		o.hash.taken_ns = pass->taken_ns;
		return o;
	}
	o.hash = (struct file_hash){ 0 };
	o.result = read_file(job, pass, &o.hash);
	return o;
}
