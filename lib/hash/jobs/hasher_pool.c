/* hasher_pool.c - the threads of a hasher; see hasher_internal.h */
#include <string.h>

#include "base/thread.h"
#include "hash/jobs/futex.h"
#include "hash/jobs/hasher_internal.h"

enum { STACK_BYTES = 512 * 1024 };

/* Takes what the worker needs from the task before others may take it over. */
static int copy_task(struct worker *w, struct hash_task *task)
{
	size_t len = task->fd < 0 ? strlen(task->path) : 0;

	atomic_store(&w->fd, task->fd);
	atomic_store(&w->offset, 0);
	if (len >= sizeof(w->path))
		return -ENAMETOOLONG;
	memcpy(w->path, task->fd < 0 ? task->path : "", len + 1);
	return 0;
}

static void work_on(struct worker *w, struct hash_task *task)
{
	CLEANUP(closep) int fd = task->fd;
	struct outcome o = { .result = copy_task(w, task) };
	struct background_job job = { .hasher = w->hasher,
				      .task = task,
				      .worker = w,
				      .path = w->path,
				      .fd = fd };

	atomic_store(&task->state, HASH_RUNNING);
	atomic_store(&w->task, task);
	if (o.result == 0)
		o = atomic_load(&w->hasher->ending) ?
			    (struct outcome){ .result = -ECANCELED } :
			    background_job_run(&job);
	if (atomic_exchange(&w->task, NULL))
		hasher_publish(w->hasher, task, &o);
}

/* Sleeps until woken.  One of the sleepers is the scout and looks at the queue
 * every POLL_MS; when it finds work it wakes the next, who is then the scout or
 * finds work too.  So a burst gets all hands and a lull costs one thread. */
static void rest(struct hasher *h)
{
	uint32_t seen = atomic_load(&h->wake);
	bool scout;

	atomic_fetch_add(&h->n_resting, 1);
	scout = !atomic_exchange(&h->has_scout, true);
	if (task_ring_is_empty(&h->ring) && !atomic_load(&h->ending))
		futex_wait(&h->wake, seen, scout ? POLL_MS : -1);
	if (scout)
		atomic_store(&h->has_scout, false);
	atomic_fetch_sub(&h->n_resting, 1);
}

/* The caller may change `background` at any time before, between and after
 * these steps; whoever comes second sees the other's mark and acts. */
static void join_background(struct worker *w)
{
	struct hasher *h = w->hasher;
	pid_t tid = gettid();

	atomic_store(&w->tid, tid);
	if (!atomic_load(&h->background))
		return;
	(void)idle_priority_enter(tid);
	if (!atomic_load(&h->background) &&
	    idle_priority_leave(tid, &h->normal) < 0)
		atomic_store(&h->stuck, true);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct hasher *h = w->hasher;
	bool rested = true;

	(void)pthread_setname_np(pthread_self(), "roar-hash");
	join_background(w);
	for (;;) {
		struct hash_task *task = task_ring_take(&h->ring);

		if (task) {
			if (rested && atomic_load(&h->n_resting))
				futex_bump(&h->wake, 1);
			rested = false;
			work_on(w, task);
			atomic_fetch_add(&w->n_ended, 1);
		} else if (atomic_load(&h->ending)) {
			return NULL;
		} else {
			rest(h);
			rested = true;
		}
	}
}

/* Without any thread everything waits for hasher_drain(), which is slower and
 * right.  The first to refuse ends the attempt: the rest would fail too. */
void hasher_pool_start(struct hasher *h)
{
	pthread_attr_t attr;

	h->started = true;
	h->normal = normal_priority_get();
	if (pthread_attr_init(&attr))
		return;
	(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
	/* The thread that submits may be bound to one CPU for the moment; the
	 * workers belong on the CPUs it had when it made the hasher. */
	if (CPU_COUNT(&h->cpus))
		(void)pthread_attr_setaffinity_np(&attr, sizeof(h->cpus),
						  &h->cpus);
	while (h->n_workers < h->options.n_threads) {
		struct worker *w = &h->workers[h->n_workers];

		w->hasher = h;
		(void)pthread_mutex_init(&w->large_lock, NULL);
		if (thread_start(&w->thread, &attr, worker_main, w) < 0)
			break;
		h->n_workers++;
	}
	(void)pthread_attr_destroy(&attr);
}

void hasher_pool_set_background(struct hasher *h, bool on)
{
	atomic_store(&h->background, on);
	if (atomic_load(&h->stuck) || h->normal.policy == SCHED_IDLE)
		return;
	for (unsigned i = 0; i < h->n_workers; i++) {
		pid_t tid = atomic_load(&h->workers[i].tid);
		int r = 0;

		if (tid && on)
			(void)idle_priority_enter(tid);
		else if (tid)
			r = idle_priority_leave(tid, &h->normal);
		if (r < 0)
			atomic_store(&h->stuck, true);
	}
}

void hasher_pool_wake(struct hasher *h)
{
	if (h->n_workers)
		futex_bump(&h->wake, INT_MAX);
}

void hasher_pool_join(struct hasher *h)
{
	for (unsigned i = 0; i < h->n_workers; i++) {
		(void)pthread_join(h->workers[i].thread, NULL);
		(void)pthread_mutex_destroy(&h->workers[i].large_lock);
	}
}
