/* errand.c - hashing one file for a hasher; see hasher_internal.h */
#include <fcntl.h>

#include "base/clock.h"
#include "hash/file_pass.h"
#include "hash/futex.h"
#include "hash/hasher_internal.h"

enum { LOOKUP_PATIENCE_MS = 50 };

void hasher_publish(struct hasher *h, struct hash_task *task,
		    const struct outcome *o)
{
	task->result = o->result;
	task->cached = o->cached;
	task->hash = o->hash;
	task->fd = -1;
	atomic_store(&task->state, HASH_DONE);

	atomic_fetch_add(&h->n_done, 1);
	if (atomic_load(&h->waiting))
		futex_bump(&h->done, 1);
}

static bool lock_lookup(const struct errand *e)
{
	struct timespec t;

	if (!e->on_caller)
		return pthread_mutex_lock(&e->hasher->lookup_lock) == 0;
	(void)clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += LOOKUP_PATIENCE_MS * 1000000L;
	if (t.tv_nsec >= 1000000000L) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000L;
	}
	return pthread_mutex_timedlock(&e->hasher->lookup_lock, &t) == 0;
}

static bool ask_cache(const struct errand *e, const struct stamp *stamp,
		      struct digests *ret)
{
	struct hasher *h = e->hasher;
	digest_set want = h->options.want;
	bool hit;

	if (!h->options.lookup || !lock_lookup(e))
		return false;
	hit = h->options.lookup(h->options.ctx, stamp, want, ret);
	(void)pthread_mutex_unlock(&h->lookup_lock);
	return hit && (ret->have & want) == want;
}

void hasher_tell_progress(struct hasher *h)
{
	int64_t now_ns;

	if (!h->progress)
		return;
	now_ns = clock_mono_ns();
	if (now_ns < h->progress_ns)
		return;
	h->progress_ns = now_ns + PROGRESS_MS * INT64_C(1000000);
	h->progress(h->progress_ctx,
		    &(struct hasher_progress){
			    .n_done = atomic_load(&h->n_done),
			    .n_submitted = h->n_submitted,
			    .bytes_done = atomic_load(&h->bytes_done),
		    });
}

/* Between two reads: is the result still wanted? */
static bool goes_on(const struct errand *e)
{
	if (e->on_caller)
		hasher_tell_progress(e->hasher);
	if (e->worker && atomic_load(&e->worker->task) != e->task)
		return false;
	return !atomic_load_explicit(&e->hasher->ending, memory_order_relaxed);
}

/* The caller takes a worker's task over. */
static bool is_race(const struct errand *e)
{
	return e->on_caller && e->worker;
}

/* What both runners of a race read counts once, for the worker. */
static int read_file(const struct errand *e, struct file_pass *pass,
		     struct file_hash *ret)
{
	_Atomic uint64_t *n_bytes = is_race(e) ? NULL : &e->hasher->bytes_done;
	int r = file_pass_start(pass, e->hasher->options.want);

	if (r < 0)
		return r;
	do
		r = goes_on(e) ? file_pass_step(pass, n_bytes, ret) :
				 -ECANCELED;
	while (r > 0);
	file_pass_end(pass);
	return r;
}

/* A race is run without the cache: the worker has asked it, or is asking. */
struct outcome errand_run(const struct errand *e)
{
	struct file_pass *pass = file_pass_local();
	struct outcome o = { .result = -ENOMEM };

	if (!pass)
		return o;
	o.result = e->fd >= 0 ? file_pass_look_fd(pass, e->fd) :
				file_pass_look(pass, AT_FDCWD, e->path);
	if (o.result < 0)
		return o;
	if (!is_race(e) && ask_cache(e, &pass->stamp, &o.hash.digests)) {
		o.cached = true;
		o.hash.stamp = pass->stamp;
		o.hash.taken_ns = pass->taken_ns;
		return o;
	}
	o.hash = (struct file_hash){ 0 };
	o.result = read_file(e, pass, &o.hash);
	return o;
}
