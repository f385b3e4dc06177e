/* errand.c - hashing one file for a hasher; see hasher_internal.h */
#include <fcntl.h>

#include "base/clock.h"
#include "hash/file_pass.h"
#include "hash/futex.h"
#include "hash/hasher_internal.h"

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

/* Takes the context to ask with; *ret_locked: give it back. */
static void *take_context(const struct errand *e, bool *ret_locked)
{
	struct hasher *h = e->hasher;

	*ret_locked = e->on_caller ?
			      pthread_mutex_trylock(&h->lookup_lock) == 0 :
			      pthread_mutex_lock(&h->lookup_lock) == 0;
	if (*ret_locked)
		return h->options.ctx;
	return e->on_caller ? h->options.caller_ctx : NULL;
}

static bool ask_cache(const struct errand *e, const struct stamp *stamp,
		      struct digests *ret)
{
	struct hasher *h = e->hasher;
	digest_set want = h->options.want;
	bool locked;
	void *ctx;
	bool hit;

	if (!h->options.lookup)
		return false;
	ctx = take_context(e, &locked);
	hit = (locked || ctx) && h->options.lookup(ctx, stamp, want, ret);
	if (locked)
		(void)pthread_mutex_unlock(&h->lookup_lock);
	return hit && (ret->have & want) == want;
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
	_Atomic uint64_t *offset = e->on_caller ? &e->hasher->offset :
						  &e->worker->offset;
	int r = file_pass_start(pass, e->hasher->options.want);

	if (r < 0)
		return r;
	do {
		atomic_store_explicit(offset, pass->offset,
				      memory_order_relaxed);
		r = goes_on(e) ? file_pass_step(pass, n_bytes, ret) :
				 -ECANCELED;
	} while (r > 0);
	file_pass_end(pass);
	return r;
}

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
	if (ask_cache(e, &pass->stamp, &o.hash.digests)) {
		o.cached = true;
		o.hash.stamp = pass->stamp;
		o.hash.taken_ns = pass->taken_ns;
		return o;
	}
	o.hash = (struct file_hash){ 0 };
	o.result = read_file(e, pass, &o.hash);
	return o;
}
