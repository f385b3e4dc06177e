/* engine.c - see engine.h */
#include "hash/jobs/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "base/thread.h"
#include "base/vec.h"
#include "hash/file/file_pass.h"
#include "hash/jobs/engine_internal.h"
#include "hash/jobs/futex.h"

enum { MAX_THREADS = 256, DEFAULT_MEMORY = 64 * 1024 * 1024 };

/* ThreadSanitizer takes one number of a descriptor for one file in all threads. */
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define ONE_TABLE
#endif
#endif

/* ---- what every file needs ---- */

static bool is_same(const struct digests *a, const struct digests *b,
		    digest_set want)
{
	for (int i = 0; i < DIGEST_ALGO_END; i++)
		if (want & 1u << i &&
		    memcmp(digests_get(a, i), digests_get(b, i),
			   digest_algo_len(i)) != 0)
			return false;
	return true;
}

/* The stamp says that the content is the same, so the digests have to be. */
static void audit(const struct engine_options *o, struct engine_file *file)
{
	const struct file_hash *hash = &file->hash;
	struct digests known;

	if (!o->audit || stamp_is_racy(&hash->stamp, hash->taken_ns) ||
	    !digest_cache_get(o->cache, &hash->stamp, o->want, &known))
		return;
	file->denied = !is_same(&known, &hash->digests, o->want);
	if (file->denied)
		(void)digest_cache_forget(o->cache, &hash->stamp);
}

/* A stamp that will not show a later change must not be remembered. */
static void remember(struct engine_worker *w, const struct engine_file *file)
{
	const struct file_hash *hash = &file->hash;
	struct digest_cache *cache = w->engine->options->cache;

	if (!stamp_is_racy(&hash->stamp, hash->taken_ns) &&
	    stability_is_proven(&w->stability, file->path, &hash->stamp,
				hash->taken_ns))
		(void)digest_cache_put(cache, &hash->stamp, hash->taken_ns,
				       &hash->digests);
}

void engine_publish(struct engine_worker *w, struct engine_file *file,
		    int result)
{
	file->result = result;
	if (result == 0 && !file->cached && w->engine->options->cache) {
		audit(w->engine->options, file);
		remember(w, file);
	}
	atomic_store_explicit(&file->done, true, memory_order_release);
	w->n_done++;
}

static void look_around(struct engine *e)
{
	int64_t now = clock_mono_tick_ns();
	struct engine_progress p = {
		.n_done = atomic_load(&e->n_done),
		.bytes_read = atomic_load(&e->bytes_read),
	};

	if (!e->options->look || now < e->look_ns)
		return;
	e->look_ns = now + e->look_ms * INT64_C(1000000);
	if (e->options->look(e->options->ctx, &p))
		atomic_store(&e->ending, true);
}

bool engine_goes_on(struct engine *e)
{
	if (pthread_equal(pthread_self(), e->caller))
		look_around(e);
	return !atomic_load_explicit(&e->ending, memory_order_relaxed);
}

/* ---- one file ---- */

/* A page of the cache is believed until the next tick of the clock. */
static bool ask_cache(struct engine_worker *w, const struct file_pass *pass,
		      struct digests *ret)
{
	const struct engine_options *o = w->engine->options;

	if (w->known_ns != pass->taken_ns)
		w->known.offset = 0;
	w->known_ns = pass->taken_ns;
	return digest_cache_get_near(o->cache, &w->known, &pass->stamp, o->want,
				     ret);
}

static bool is_known(struct engine_worker *w, struct engine_file *file,
		     const struct file_pass *pass)
{
	const struct engine_options *o = w->engine->options;

	if (!o->cache || o->audit ||
	    stamp_is_racy(&pass->stamp, pass->taken_ns) ||
	    !stability_trusts_stamps(&w->stability, file->path,
				     pass->stamp.dev) ||
	    !ask_cache(w, pass, &file->hash.digests))
		return false;
	file->cached = true;
	file->hash.stamp = pass->stamp;
	file->hash.taken_ns = pass->taken_ns;
	return true;
}

/* Another inode is right when the name leads there.  But in a program that closes
 * descriptors which are not its own, another file may have got the number of ours. */
int engine_check_file(const struct engine_file *file,
		      const struct stamp *looked_at)
{
	struct stamp named;
	struct stat st;

	if (stamp_same_file(&file->hash.stamp, looked_at))
		return 0;
	if (stat(file->path, &st) < 0)
		return -errno;
	named = stamp_of(&st);
	return stamp_same_file(&file->hash.stamp, &named) ? 0 : -EAGAIN;
}

/* In pieces, as many times as it takes until the file holds still. */
static int medium_hash(struct engine *e, struct file_pass *pass,
		       struct engine_file *file)
{
	struct stamp looked_at = pass->stamp;
	int r = file_pass_start(pass, e->options->want);

	if (r < 0)
		return r;
	do {
		r = engine_goes_on(e) ?
			    file_pass_step(pass, &e->bytes_read, &file->hash) :
			    -ECANCELED;
	} while (r > 0);
	file_pass_end(pass);
	return r < 0 ? r : engine_check_file(file, &looked_at);
}

static bool leave_for_all(struct engine *e, const struct engine_file *file)
{
	size_t *slot;

	(void)pthread_mutex_lock(&e->lock);
	slot = VEC_PUSH(e->shared, e->n_shared, e->cap_shared);
	if (slot)
		*slot = (size_t)(file - e->files);
	(void)pthread_mutex_unlock(&e->lock);
	return slot != NULL;
}

static void hash_looked_at(struct engine_worker *w, struct file_pass *pass,
			   struct engine_file *file)
{
	struct engine *e = w->engine;
	uint64_t size = pass->stamp.size;

	if (size <= SMALL_BYTES && e->options->want == DIGEST_SET_BLAKE3 &&
	    small_add(w, file, pass))
		return;
	small_close(w);
	if (size < LARGE_BYTES) {
		engine_publish(w, file, medium_hash(e, pass, file));
		return;
	}
	file->hash.stamp = pass->stamp;
	file->hash.taken_ns = pass->taken_ns;
	if (size >= e->shared_bytes && leave_for_all(e, file))
		return;
	engine_publish(w, file,
		       large_hash(w, file, 1, e->memory / e->n_threads));
}

/* A guess that fails costs as much as it might have saved: some files are looked at
 * before the next one. */
static bool guess(struct engine_worker *w, struct engine_file *file, int dirfd,
		  const char *name)
{
	enum { WAIT = 32 };
	const struct engine *e = w->engine;
	uint64_t dev;

	if (!e->guesses ||
	    !last_dir_is_listed(&w->last_dir, e->options->listings, &dev))
		return false;
	if (w->n_wait) {
		w->n_wait--;
		return false;
	}
	if (small_guess(w, file, dirfd, name, dev))
		return true;
	w->n_wait = WAIT;
	return false;
}

static void hash_one(struct engine_worker *w, struct file_pass *pass,
		     struct engine_file *file)
{
	const char *name = file->path;
	int dirfd = w->engine->options->own_tables ?
			    last_dir_find(&w->last_dir, file->path, &name) :
			    AT_FDCWD;
	int r;

	file->hash = (struct file_hash){ 0 };
	file->cached = file->denied = false;
	if (!engine_goes_on(w->engine))
		r = -ECANCELED;
	else if (guess(w, file, dirfd, name))
		return;
	else
		r = file_pass_look_at(pass, dirfd, name, clock_now_tick_ns());
	if (r < 0 || is_known(w, file, pass))
		engine_publish(w, file, r);
	else
		hash_looked_at(w, pass, file);
}

/* ---- threads ---- */

static void hash_share(struct engine_worker *w, struct file_pass *pass,
		       size_t first, size_t end)
{
	struct engine *e = w->engine;

	for (size_t i = first; i < end; i++) {
		if (!e->files[i].path)
			atomic_store(&e->files[i].done, true);
		else if (pass)
			hash_one(w, pass, &e->files[i]);
		else
			engine_publish(w, &e->files[i], -ENOMEM);
		if (w->n_small == ENGINE_BATCH)
			small_flush(w);
	}
	small_flush(w);
}

/* Not file by file: threads that write to one place all the time wait for each other
 * there. */
static void add_up(struct engine_worker *w)
{
	atomic_fetch_add(&w->engine->n_done, w->n_done);
	atomic_fetch_add(&w->engine->bytes_read, w->bytes_read);
	w->n_done = w->bytes_read = 0;
}

/* The next files for a thread: so many that the lanes are full and that it stays where it
 * is, so few that nobody is left with much when the others have ended; the files may be
 * large.  0: there are none. */
static size_t take_share(struct engine *e, size_t *ret_first)
{
	enum { SHARES = 16, MOST = 4 * ENGINE_BATCH };
	size_t first = atomic_load(&e->next), share;

	do {
		share = (e->n - first) / ((size_t)e->n_threads * SHARES);
		if (share < e->share)
			share = e->share;
		if (share > MOST)
			share = MOST;
		if (share > e->n - first)
			share = e->n - first;
	} while (!atomic_compare_exchange_weak(&e->next, &first, first + share));
	*ret_first = first;
	return share;
}

static void work(struct engine_worker *w)
{
	struct engine *e = w->engine;
	struct file_pass *pass = file_pass_local();
	size_t first, n;

	while ((n = take_share(e, &first)) > 0) {
		hash_share(w, pass, first, first + n);
		add_up(w);
	}
	last_dir_release(&w->last_dir);
}

static void *worker_main(void *arg)
{
	struct engine_worker *w = arg;

#ifndef ONE_TABLE
	/* Refused: then it waits for the others now and then. */
	w->own_table = w->engine->options->own_tables &&
		       unshare(CLONE_FILES) == 0;
#endif
	(void)pthread_setname_np(pthread_self(), "roar-hash");
	work(arg);
	futex_bump(&w->engine->n_ended, 1);
	return NULL;
}

/* Those that were left, one after the other, with all threads. */
static void hash_shared(struct engine_worker *w)
{
	struct engine *e = w->engine;

	for (size_t i = 0; i < e->n_shared; i++) {
		struct engine_file *file = &e->files[e->shared[i]];

		engine_publish(w, file,
			       engine_goes_on(e) ?
				       large_hash(w, file, e->n_threads,
						  e->memory) :
				       -ECANCELED);
		add_up(w);
	}
}

/* The caller has no more to do, and goes on looking until `n` others have ended. */
static void await_others(struct engine *e, unsigned n)
{
	uint32_t ended;

	while ((ended = atomic_load(&e->n_ended)) < n) {
		futex_wait(&e->n_ended, ended, (int)e->look_ms);
		look_around(e);
	}
}

/* The calling thread is the first worker.  Others that cannot be made are not
 * missed. */
static void run(struct engine *e, struct engine_worker **workers)
{
	unsigned n = 1;

	while (n < e->n_threads && workers[n] &&
	       thread_start(&workers[n]->thread, NULL, worker_main,
			    workers[n]) == 0)
		n++;
	work(workers[0]);
	await_others(e, n - 1);
	while (n > 1)
		(void)pthread_join(workers[--n]->thread, NULL);
	hash_shared(workers[0]);
}

/* No more than there is work for. */
static void make_workers(struct engine *e, struct engine_worker **workers)
{
	size_t n_shares = (e->n + e->share - 1) / e->share;

	for (unsigned i = 0; i < e->n_threads && (i == 0 || i < n_shares);
	     i++) {
		workers[i] = aligned_alloc(_Alignof(struct engine_worker),
					   sizeof(*workers[i]));
		if (!workers[i])
			return;
		workers[i]->engine = e;
		workers[i]->stability = (struct stability){ 0 };
		workers[i]->last_dir = (struct last_dir){ .fd = -1 };
		workers[i]->known.offset = 0;
		workers[i]->known_ns = 0;
		workers[i]->n_done = workers[i]->bytes_read = 0;
		workers[i]->leaf = NULL;
		workers[i]->own_table = i == 0 && e->options->own_tables;
		workers[i]->n_wait = workers[i]->n_guessed = 0;
		workers[i]->n_small = workers[i]->n_open = 0;
		workers[i]->n_data = 0;
	}
}

static void worker_free(struct engine_worker *w)
{
	if (w)
		free(w->leaf);
	free(w);
}

/* At the end of the list. */
static size_t choose_share(const struct engine *e)
{
	enum { SHARES = 16 }; /* for each thread */
	size_t share = e->n / ((size_t)e->n_threads * SHARES);

	return share < 1 ? 1 : share > ENGINE_BATCH ? ENGINE_BATCH : share;
}

static void prepare(struct engine *e)
{
	const struct engine_options *o = e->options;

	e->n_threads = o->n_threads ? o->n_threads : cpus_allowed();
	if (e->n_threads > MAX_THREADS)
		e->n_threads = MAX_THREADS;
	e->memory = o->memory ? o->memory : DEFAULT_MEMORY;
	e->share = choose_share(e);
	e->guesses = o->listings && o->own_tables &&
		     o->want == DIGEST_SET_BLAKE3 && (!o->cache || o->audit);
	/* Alone, or with few others, a file is for all, unless it has to be read from
	 * the first byte to the last: that is for two at most. */
	if (e->n_threads == 1)
		e->shared_bytes = UINT64_MAX;
	else if (o->want & ~(digest_set)DIGEST_SET_BLAKE3)
		e->shared_bytes = e->n == 1 ? LARGE_BYTES : UINT64_MAX;
	else
		e->shared_bytes = e->n < 2 * (size_t)e->n_threads ?
					  LARGE_BYTES :
					  HUGE_BYTES;
	e->caller = pthread_self();
	e->look_ms = o->look_ms ? o->look_ms : LOOK_MS;
	e->look_ns = clock_mono_tick_ns() + e->look_ms * INT64_C(1000000);
	(void)pthread_mutex_init(&e->lock, NULL);
}

/* Asking whether a file is still (stability.h) may bring us a SIGIO, which would end a
 * program that does not expect it. */
struct leases {
	sigset_t old;
	bool ours; /* none was on its way, nor blocked */
};

static void leases_begin(struct leases *l)
{
	sigset_t io, pending;

	sigemptyset(&io);
	sigaddset(&io, SIGIO);
	(void)pthread_sigmask(SIG_BLOCK, &io, &l->old);
	l->ours = !sigismember(&l->old, SIGIO) && sigpending(&pending) == 0 &&
		  !sigismember(&pending, SIGIO);
}

static void leases_end(const struct leases *l)
{
	const struct timespec at_once = { 0 };
	sigset_t io;

	sigemptyset(&io);
	sigaddset(&io, SIGIO);
	while (l->ours && sigtimedwait(&io, NULL, &at_once) > 0)
		;
	(void)pthread_sigmask(SIG_SETMASK, &l->old, NULL);
}

int engine_run(struct engine_file *files, size_t n,
	       const struct engine_options *options)
{
	struct engine_worker *workers[MAX_THREADS] = { NULL };
	struct engine e = { .options = options, .files = files, .n = n };
	struct leases leases;
	int r;

	if (!options->want || options->want >> DIGEST_ALGO_END)
		return -EINVAL;
	prepare(&e);
	make_workers(&e, workers);
	if (options->cache)
		leases_begin(&leases);
	if (workers[0])
		run(&e, workers);
	if (options->cache)
		leases_end(&leases);
	r = workers[0] ? 0 : -ENOMEM;
	for (unsigned i = 0; i < e.n_threads; i++)
		worker_free(workers[i]);
	free(e.shared);
	(void)pthread_mutex_destroy(&e.lock);
	return r;
}
