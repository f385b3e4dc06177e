/* side_thread.c - two queues, to the thread and back, under one lock. */
#include "net/side_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/macros.h"
#include "base/thread.h"

struct queue {
	struct side_job *first, *last;
};

struct side_thread {
	struct loop *loop;
	struct loop_fd wake; /* an eventfd: jobs are to be ended */
	unsigned max;
	bool has_thread;
	bool is_refused; /* there can be no thread */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work, changed;
	/* Under the lock: */
	struct queue waiting, run;
	unsigned n; /* that have not been run */
	bool is_told; /* the eventfd is set */
	bool stop;
};

static void put(struct queue *q, struct side_job *j)
{
	j->next = NULL;
	*(q->first ? &q->last->next : &q->first) = j;
	q->last = j;
}

static struct side_job *take(struct queue *q)
{
	struct side_job *j = q->first;

	if (j)
		q->first = j->next;
	return j;
}

/* ---- the thread ---- */

static void tell(struct side_thread *t)
{
	const uint64_t one = 1;

	if (!t->is_told)
		(void)!write(t->wake.fd, &one, sizeof(one)); /* never full */
	t->is_told = true;
}

/* A job without `done` may be gone as soon as it counts as run. */
static void run_one(struct side_thread *t, struct side_job *j)
{
	bool is_awaited = j->done;

	(void)pthread_mutex_unlock(&t->lock);
	j->run(j);
	(void)pthread_mutex_lock(&t->lock);
	if (is_awaited) {
		put(&t->run, j);
		tell(t);
	} else {
		atomic_store_explicit(&j->is_run, true, memory_order_release);
	}
	if (--t->n == 0)
		(void)pthread_cond_signal(&t->changed);
}

static void *work(void *arg)
{
	struct side_thread *t = arg;

	(void)pthread_mutex_lock(&t->lock);
	while (!t->stop) {
		struct side_job *j = take(&t->waiting);

		if (j)
			run_one(t, j);
		else
			(void)pthread_cond_wait(&t->work, &t->lock);
	}
	(void)pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* ---- the loop ---- */

static void end_jobs(struct side_thread *t)
{
	struct queue ended;

	(void)pthread_mutex_lock(&t->lock);
	ended = t->run;
	t->run = (struct queue){ 0 };
	(void)pthread_mutex_unlock(&t->lock);
	for (struct side_job *j; (j = take(&ended));)
		j->done(j);
}

static void on_wake(struct loop_fd *f, uint32_t events)
{
	struct side_thread *t = container_of(f, struct side_thread, wake);
	uint64_t n;

	(void)events;
	(void)pthread_mutex_lock(&t->lock);
	(void)!read(f->fd, &n, sizeof(n));
	t->is_told = false;
	(void)pthread_mutex_unlock(&t->lock);
	end_jobs(t);
}

int side_thread_new(struct loop *loop, unsigned max, struct side_thread **ret)
{
	CLEANUP(side_thread_freep) struct side_thread *t = NULL;
	int r;

	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->loop = loop;
	t->max = max;
	(void)pthread_mutex_init(&t->lock, NULL);
	(void)pthread_cond_init(&t->work, NULL);
	(void)pthread_cond_init(&t->changed, NULL);
	t->is_refused = cpus_allowed() < 2;
	t->wake = (struct loop_fd){ .ready = on_wake };
	t->wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->wake.fd < 0)
		return -errno;
	r = loop_add(loop, &t->wake, EPOLLIN);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(t);
	return 0;
}

void side_thread_free(struct side_thread *t)
{
	if (!t)
		return;
	side_thread_finish(t);
	(void)pthread_mutex_lock(&t->lock);
	t->stop = true;
	(void)pthread_cond_signal(&t->work);
	(void)pthread_mutex_unlock(&t->lock);
	if (t->has_thread)
		(void)pthread_join(t->thread, NULL);
	if (t->wake.fd >= 0) {
		loop_remove(t->loop, &t->wake);
		closep(&t->wake.fd);
	}
	(void)pthread_cond_destroy(&t->changed);
	(void)pthread_cond_destroy(&t->work);
	(void)pthread_mutex_destroy(&t->lock);
	free(t);
}

static bool has_thread(struct side_thread *t)
{
	if (t->has_thread || t->is_refused)
		return t->has_thread;
	t->has_thread = thread_start(&t->thread, NULL, work, t) == 0;
	t->is_refused = !t->has_thread;
	return t->has_thread;
}

bool side_thread_add(struct side_thread *t, struct side_job *j)
{
	bool is_taken;

	if (!has_thread(t))
		return false;
	(void)pthread_mutex_lock(&t->lock);
	is_taken = t->n < t->max;
	if (is_taken) {
		atomic_store_explicit(&j->is_run, false, memory_order_relaxed);
		put(&t->waiting, j);
		if (t->n++ == 0)
			(void)pthread_cond_signal(&t->work);
	}
	(void)pthread_mutex_unlock(&t->lock);
	return is_taken;
}

void side_thread_finish(struct side_thread *t)
{
	(void)pthread_mutex_lock(&t->lock);
	while (t->n)
		(void)pthread_cond_wait(&t->changed, &t->lock);
	(void)pthread_mutex_unlock(&t->lock);
	end_jobs(t);
}
