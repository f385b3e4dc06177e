/* ckpt_reader_run.c - threads that read, verify and deliver the steps of a plan
 *
 * Threads, not io_uring: a traced process keeps a complete record, and a few threads with
 * blocks of 4 MiB reach the rate of the disk.  While one waits for the disk, another
 * hashes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/thread.h"
#include "ckpt/ckpt_reader_internal.h"

enum {
	LOOK_NS = 100000000,
	HUGE_PAGE = 2 << 20, /* alignment of buffers: fewer page faults */
};

static void fail_run(struct ckpt_run *run, int error,
		     const struct roar_error *err)
{
	(void)pthread_mutex_lock(&run->lock);
	if (atomic_load(&run->error) == 0) {
		run->err = *err;
		atomic_store(&run->error, error);
	}
	(void)pthread_mutex_unlock(&run->lock);
}

/* ---- one step ---- */

/* After a read of the whole step failed, each leaf is read by itself: so the damage is
 * found, and the others are delivered. */
static int check_leaf(struct ckpt_run *run, uint32_t file, uint64_t leaf,
		      bool is_read, char *to, size_t len,
		      struct roar_error *err)
{
	struct ckpt_reader *r = run->reader;
	int error = 0;

	if (!is_read)
		error = ckpt_leaves_read(&r->sources, &r->manifest.files[file],
					 leaf, to, len);
	if (error == 0 && !leaf_tree_check(&r->trees[file], leaf, to, len))
		error = -EBADMSG;
	if (error == 0)
		return 0;
	return ckpt_leaf_repair(run, file, leaf, error, to, len, err);
}

static int read_step(struct ckpt_run *run, const struct ckpt_step *s, char *to,
		     struct roar_error *err)
{
	struct ckpt_reader *r = run->reader;
	const struct leaf_tree *tree = &r->trees[s->file];
	size_t done = 0;
	int error = ckpt_leaves_read(&r->sources, &r->manifest.files[s->file],
				     s->first_leaf, to,
				     ckpt_step_bytes(run->plan, s));
	bool is_read = error == 0;

	error = 0;
	for (uint64_t i = 0; error == 0 && i < s->n_leaves; i++) {
		uint64_t leaf = s->first_leaf + i;
		size_t len = b3_shape_leaf_len(&tree->shape, leaf);

		error = check_leaf(run, s->file, leaf, is_read, to + done, len,
				   err);
		if (run->only_verify)
			error = 0;
		done += len;
	}
	return error;
}

static int do_step(struct ckpt_run *run, const struct ckpt_step *s,
		   char *buffer, struct roar_error *err)
{
	uint64_t from = s->first_leaf * run->plan->files[s->file].leaf_bytes;
	size_t len = ckpt_step_bytes(run->plan, s);
	char *to = s->in_place ? s->in_place : buffer;
	int error = 0;

	if (run->reader->trees[s->file].values)
		error = read_step(run, s, to, err);
	if (error == 0 && run->block)
		error = run->block(run->ctx, s->file, from, to, len);
	else if (error == 0 && !s->in_place)
		ckpt_plan_copy(run->plan, s->file, from, to, len);
	if (error == 0)
		atomic_fetch_add(&run->bytes_done, len);
	return error;
}

/* ---- a thread ---- */

/* 0: every step is read in place. */
static size_t buffer_bytes(const struct ckpt_plan *plan)
{
	size_t most = 0;

	for (size_t i = 0; i < plan->n_steps; i++)
		if (!plan->steps[i].in_place &&
		    ckpt_step_bytes(plan, &plan->steps[i]) > most)
			most = ckpt_step_bytes(plan, &plan->steps[i]);
	return (most + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
}

static void work(struct ckpt_run *run)
{
	size_t len = buffer_bytes(run->plan);
	CLEANUP(freep) char *buffer = NULL;
	struct roar_error err = { 0 };
	int error = 0;

	if (len) {
		buffer = aligned_alloc(HUGE_PAGE, len);
		error = buffer ? 0 : -ENOMEM;
	}
	/* Without huge pages it is slower, and nothing else. */
	if (buffer)
		(void)madvise(buffer, len, MADV_HUGEPAGE);
	while (error == 0 && atomic_load(&run->error) == 0) {
		size_t i = atomic_fetch_add(&run->next, 1);

		if (i >= run->plan->n_steps)
			break;
		error = do_step(run, &run->plan->steps[i], buffer, &err);
	}
	if (error < 0)
		fail_run(run, error, &err);
}

static void *thread_main(void *arg)
{
	struct ckpt_run *run = arg;

	work(run);
	(void)pthread_mutex_lock(&run->lock);
	run->n_threads--;
	(void)pthread_cond_broadcast(&run->ended);
	(void)pthread_mutex_unlock(&run->lock);
	return NULL;
}

/* ---- all threads ---- */

static void look_now(struct ckpt_run *run)
{
	const struct ckpt_reader_options *o = &run->reader->options;
	struct roar_error err = { 0 };

	if (!o->look || !o->look(o->ctx, atomic_load(&run->bytes_done),
				 run->plan->bytes_read))
		return;
	(void)error_set(&err, -ECANCELED, "reading '%s' was cancelled",
			run->reader->name);
	fail_run(run, -ECANCELED, &err);
}

static struct timespec soon(void)
{
	int64_t at = clock_now_ns() + LOOK_NS;

	return (struct timespec){ .tv_sec = at / 1000000000,
				  .tv_nsec = at % 1000000000 };
}

static void wait_for_threads(struct ckpt_run *run)
{
	(void)pthread_mutex_lock(&run->lock);
	while (run->n_threads) {
		struct timespec at = soon();

		(void)pthread_cond_timedwait(&run->ended, &run->lock, &at);
		(void)pthread_mutex_unlock(&run->lock);
		look_now(run);
		(void)pthread_mutex_lock(&run->lock);
	}
	(void)pthread_mutex_unlock(&run->lock);
}

static void run_threads(struct ckpt_run *run, pthread_t *threads, size_t n)
{
	size_t started = 0;

	for (; started < n; started++) {
		(void)pthread_mutex_lock(&run->lock);
		run->n_threads++;
		(void)pthread_mutex_unlock(&run->lock);
		if (thread_start(&threads[started], NULL, thread_main, run) < 0)
			break;
	}
	if (started < n) {
		(void)pthread_mutex_lock(&run->lock);
		run->n_threads--;
		(void)pthread_mutex_unlock(&run->lock);
	}
	if (started == 0) /* no thread could be started: this one reads */
		work(run);
	wait_for_threads(run);
	for (size_t i = 0; i < started; i++)
		(void)pthread_join(threads[i], NULL);
}

int ckpt_run_execute(struct ckpt_run *run, struct roar_error *err)
{
	pthread_t threads[CKPT_READER_THREADS_MAX];
	size_t n = run->reader->options.n_threads;
	int r;

	if (!n)
		n = CKPT_READER_THREADS;
	if (n > CKPT_READER_THREADS_MAX)
		n = CKPT_READER_THREADS_MAX;
	if (n > run->plan->n_steps)
		n = run->plan->n_steps;
	(void)pthread_mutex_init(&run->lock, NULL);
	(void)pthread_cond_init(&run->ended, NULL);
	r = ckpt_reader_trees(run);
	if (r < 0)
		fail_run(run, r, &run->err);
	else if (run->on_caller)
		work(run);
	else if (n)
		run_threads(run, threads, n);
	if (!run->on_caller)
		run->reader->bytes_read = atomic_load(&run->bytes_done);
	r = atomic_load(&run->error);
	if (r < 0 && err && run->err.text[0])
		*err = run->err;
	else if (r < 0)
		(void)error_set(err, r, "cannot read '%s': %s",
				run->reader->name, strerror(-r));
	(void)pthread_cond_destroy(&run->ended);
	(void)pthread_mutex_destroy(&run->lock);
	return r;
}
