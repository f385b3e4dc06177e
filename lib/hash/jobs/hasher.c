/* hasher.c - see hasher.h
 *
 * The life of a task, and who moves it:
 *
 *     submit          take                publish
 *     NEW ──▶ QUEUED ──────▶ RUNNING ──────────▶ DONE
 *             overflow,      worker->task,
 *             then ring      or on the caller's stack
 *
 * A task is queued in the ring or, when that is full, in a list that only the
 * caller's thread touches.  A worker copies what it needs out of the task,
 * shows it in worker->task and hashes.  Who swaps worker->task back to NULL may
 * write the results: usually the worker, but on a busy machine an idle thread
 * may hold a task for seconds, and where the kernel forbids to raise it the
 * caller hashes the same file at its own priority and overtakes it (race()).
 *
 * There is no lock but one around what a worker has read of a large file, for whoever
 * overtakes it (hasher_large.c). */
#include "hash/jobs/hasher.h"

#include <assert.h>
#include <fcntl.h>

#include "base/clock.h"
#include "base/cpus.h"
#include "hash/jobs/futex.h"
#include "hash/jobs/hasher_internal.h"

enum {
	MAX_THREADS = 8, /* where one per CPU is the default */
	THREAD_LIMIT = 64, /* whatever was asked for */
};

static unsigned default_threads(void)
{
	unsigned n = cpus_allowed();

	return n < MAX_THREADS ? n : MAX_THREADS;
}

int hasher_new(const struct hasher_options *options, struct hasher **ret_hasher)
{
	unsigned n = options->n_threads;
	struct hasher *h;

	if (options->want >> DIGEST_ALGO_END)
		return -EINVAL;
	n = n == 0 ? default_threads() : n > THREAD_LIMIT ? THREAD_LIMIT : n;
	h = calloc(1, sizeof(*h) + n * sizeof(h->workers[0]));
	if (!h)
		return -ENOMEM;
	h->options = *options;
	h->options.n_threads = n;
	h->options.want |= DIGEST_SET_BLAKE3;
	h->overflow_end = &h->overflow;
	if (sched_getaffinity(0, sizeof(h->cpus), &h->cpus) < 0)
		CPU_ZERO(&h->cpus);
	atomic_store(&h->background, true);
	*ret_hasher = h;
	return 0;
}

static void overflow_append(struct hasher *h, struct hash_task *task)
{
	task->next = NULL;
	*h->overflow_end = task;
	h->overflow_end = &task->next;
}

static struct hash_task *overflow_shift(struct hasher *h)
{
	struct hash_task *task = h->overflow;

	if (!task)
		return NULL;
	h->overflow = task->next;
	if (!h->overflow)
		h->overflow_end = &h->overflow;
	return task;
}

static bool overflow_remove(struct hasher *h, struct hash_task *task)
{
	struct hash_task **p = &h->overflow;

	while (*p && *p != task)
		p = &(*p)->next;
	if (!*p)
		return false;
	*p = task->next;
	if (!*p)
		h->overflow_end = p;
	return true;
}

static void fill_ring(struct hasher *h)
{
	while (h->overflow && !task_ring_is_full(&h->ring)) {
		struct hash_task *left = task_ring_put(&h->ring,
						       overflow_shift(h));

		if (left)
			overflow_append(h, left);
	}
}

static struct hash_task *take_any(struct hasher *h)
{
	fill_ring(h);
	return task_ring_take(&h->ring);
}

void hasher_submit(struct hasher *h, struct hash_task *task)
{
	int state = atomic_load(&task->state);

	assert(state == HASH_NEW || state == HASH_DONE);
	(void)state;
	atomic_store(&task->state, HASH_QUEUED);
	h->n_submitted++;
	h->bytes_submitted += task->size_bytes;
	overflow_append(h, task);
	fill_ring(h);
	if (!h->started)
		hasher_pool_start(h);
}

static bool is_done(struct hash_task *task)
{
	return atomic_load(&task->state) == HASH_DONE;
}

static bool is_drained(struct hasher *h)
{
	return atomic_load(&h->n_done) == h->n_submitted;
}

/* background_job_run() on the caller's thread. */
static struct outcome background_job_here(struct background_job *job)
{
	struct hasher *h = job->hasher;
	struct outcome o;

	h->mine = job->task;
	atomic_store(&h->offset, 0);
	o = background_job_run(job);
	h->mine = NULL;
	return o;
}

static void run_here(struct hasher *h, struct hash_task *task)
{
	struct background_job job = { .hasher = h,
				      .task = task,
				      .on_caller = true,
				      .path = task->path,
				      .fd = task->fd };
	struct outcome o;

	atomic_store(&task->state, HASH_RUNNING);
	o = background_job_here(&job);
	closep(&job.fd);
	hasher_publish(h, task, &o);
}

/* Sleeps until some task is done, or until it is time to look around.  `task`
 * NULL waits for all. */
static void sleep_until_done(struct hasher *h, struct hash_task *task,
			     int timeout_ms)
{
	uint32_t seen;

	atomic_store(&h->waiting, true);
	seen = atomic_load(&h->done);
	if (task ? !is_done(task) : !is_drained(h))
		futex_wait(&h->done, seen, timeout_ms);
	atomic_store(&h->waiting, false);
}

/* Hashes what a worker is hashing too, and overtakes it if it can.  A failure
 * decides nothing: the worker may hold a file open whose name is gone.  The
 * worker closes its descriptor only after it has given up the task, so a
 * duplicate made while it still had the task is one of the right file. */
static void race(struct hasher *h, struct worker *w, struct hash_task *task)
{
	int held_fd = atomic_load(&w->fd);
	CLEANUP(closep) int fd = -1;
	struct hash_task *expected = task;
	struct background_job job = { .hasher = h,
				      .task = task,
				      .worker = w,
				      .on_caller = true,
				      .path = task->path };
	struct outcome o = { .result = -ECANCELED };

	if (held_fd >= 0)
		fd = fcntl(held_fd, F_DUPFD_CLOEXEC, 0);
	job.fd = fd;
	if (atomic_load(&w->task) == task && (fd >= 0 || held_fd < 0))
		o = background_job_here(&job);
	if (o.result == 0 &&
	    atomic_compare_exchange_strong(&w->task, &expected, NULL))
		hasher_publish(h, task, &o);
	else
		sleep_until_done(h, task, POLL_MS);
}

static struct worker *find_worker(struct hasher *h, struct hash_task *task)
{
	for (unsigned i = 0; i < h->n_workers; i++) {
		struct hash_task *t = atomic_load(&h->workers[i].task);

		if (t && (!task || t == task))
			return &h->workers[i];
	}
	return NULL;
}

/* Waits for a task (NULL: for any) that a worker has begun: asleep when the
 * worker runs at normal priority, otherwise by racing it.  Between taking a
 * task and showing it, a worker cannot be raced. */
static void await(struct hasher *h, struct hash_task *task)
{
	struct worker *w;
	struct hash_task *held;

	if (!atomic_load(&h->stuck)) {
		sleep_until_done(h, task, PROGRESS_MS);
		return;
	}
	w = find_worker(h, task);
	held = w ? atomic_load(&w->task) : NULL;
	if (held && (!task || held == task))
		race(h, w, held);
	else
		sleep_until_done(h, task, 1);
}

void hasher_wait(struct hasher *h, struct hash_task *task)
{
	if (is_done(task))
		return;
	assert(atomic_load(&task->state) != HASH_NEW);
	if (task_ring_remove(&h->ring, task) || overflow_remove(h, task)) {
		run_here(h, task);
		return;
	}
	hasher_pool_set_background(h, false);
	while (!is_done(task))
		await(h, task);
	hasher_pool_set_background(h, true);
}

/* Waits until the worker has closed what it had open when it was seen to have ended
 * `seen` tasks; not for ever: idle threads may be slow. */
static void await_close(struct worker *w, uint32_t seen)
{
	enum { TRIES = 200 };
	const struct timespec ms = { .tv_nsec = 1000000 };

	for (int i = 0; i < TRIES && atomic_load(&w->n_ended) == seen; i++)
		(void)nanosleep(&ms, NULL);
}

/* Takes the task from the worker that has it; false when none shows it. */
static bool cancel_running(struct hasher *h, struct hash_task *task)
{
	const struct outcome o = { .result = -ECANCELED };
	struct worker *w = find_worker(h, task);
	struct hash_task *expected = task;
	uint32_t seen = w ? atomic_load(&w->n_ended) : 0;

	if (!w || !atomic_compare_exchange_strong(&w->task, &expected, NULL))
		return false;
	hasher_publish(h, task, &o);
	await_close(w, seen);
	return true;
}

void hasher_cancel(struct hasher *h, struct hash_task *task)
{
	const struct outcome o = { .result = -ECANCELED };

	if (is_done(task))
		return;
	if (task_ring_remove(&h->ring, task) || overflow_remove(h, task)) {
		closep(&task->fd);
		hasher_publish(h, task, &o);
		return;
	}
	hasher_pool_set_background(h, false);
	/* Between taking a task and showing it, nobody can take it away. */
	while (!is_done(task) && !cancel_running(h, task))
		sleep_until_done(h, task, 1);
	hasher_pool_set_background(h, true);
}

void hasher_drain(struct hasher *h,
		  void (*progress)(void *ctx, const struct hasher_progress *p),
		  void *ctx)
{
	if (is_drained(h))
		return;
	h->progress = progress;
	h->progress_ctx = ctx;
	h->progress_ns = clock_mono_ns() + PROGRESS_MS * INT64_C(1000000);
	hasher_pool_set_background(h, false);
	atomic_store(&h->n_goal, h->n_submitted);
	hasher_pool_wake(h);
	while (!is_drained(h)) {
		struct hash_task *task = take_any(h);

		if (!task && atomic_load(&h->stuck))
			task = task_ring_rescue(&h->ring);
		if (task)
			run_here(h, task);
		else
			await(h, NULL);
		hasher_tell_progress(h);
	}
	atomic_store(&h->n_goal, 0);
	hasher_pool_set_background(h, true);
	h->progress = NULL;
}

static void cancel_queued(struct hasher *h)
{
	struct outcome o = { .result = -ECANCELED };
	struct hash_task *task;

	while ((task = take_any(h))) {
		closep(&task->fd);
		hasher_publish(h, task, &o);
	}
}

void hasher_free(struct hasher *h)
{
	if (!h)
		return;
	atomic_store(&h->ending, true);
	cancel_queued(h);
	hasher_pool_set_background(h, false);
	hasher_pool_wake(h);
	hasher_pool_join(h);
	free(h);
}
