/* checkpoint_saver.c - saves in the background */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/thread.h"
#include "checkpoint.h"
#include "ckpt/ckpt_failure.h"
#include "ckpt/ckpt_save.h"
#include "ckpt/ckpt_snapshot.h"

#define API __attribute__((visibility("default")))

struct roar_checkpoint_saver {
	struct ckpt_snapshot snapshot; /* the thread's, while it runs */
	struct ckpt_progress progress;
	char uid[9];
	pthread_t thread;
	bool has_thread; /* to be joined; the caller's thread alone */
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t ended;
	bool is_running;
	bool is_new; /* the result was not returned yet */
	int error;
	struct roar_error why;
	struct roar_checkpoint_result result;
};

static void *save_snapshot(void *arg)
{
	struct roar_checkpoint_saver *s = arg;
	struct roar_checkpoint_result result = { .size_bytes = 0 };
	struct roar_error why = { "" };
	const struct roar_checkpoint_save *save = &s->snapshot.save;
	int r = ckpt_save_run(save, &s->progress, &result, &why);

	/* The program may not ask for a long time. */
	if (r < 0)
		ckpt_failure_put(save->url, save->step, save->save_id,
				 why.text[0] ? why.text : strerror(-r));

	(void)pthread_mutex_lock(&s->lock);
	s->error = r;
	s->why = why;
	s->result = result;
	s->is_running = false;
	(void)pthread_cond_broadcast(&s->ended);
	(void)pthread_mutex_unlock(&s->lock);
	return NULL;
}

API int roar_checkpoint_saver_new(struct roar_checkpoint_saver **ret)
{
	struct roar_checkpoint_saver *s = calloc(1, sizeof(*s));
	struct roar_error err = { "" };

	if (!s)
		return checkpoint_fail(-ENOMEM, &err);
	(void)pthread_mutex_init(&s->lock, NULL);
	(void)pthread_cond_init(&s->ended, NULL);
	*ret = s;
	return 0;
}

static void join(struct roar_checkpoint_saver *s)
{
	if (s->has_thread)
		(void)pthread_join(s->thread, NULL);
	s->has_thread = false;
}

API void roar_checkpoint_saver_free(struct roar_checkpoint_saver *s)
{
	if (!s)
		return;
	join(s);
	ckpt_snapshot_release(&s->snapshot);
	(void)pthread_mutex_destroy(&s->lock);
	(void)pthread_cond_destroy(&s->ended);
	free(s);
}

static int begin(struct roar_checkpoint_saver *s, struct roar_error *err)
{
	int r;

	atomic_store(&s->progress.done_bytes, 0);
	atomic_store(&s->progress.total_bytes, 0);
	s->is_running = true;
	s->is_new = true;
	r = thread_start(&s->thread, NULL, save_snapshot, s);
	s->has_thread = r == 0;
	if (r < 0) {
		s->is_running = s->is_new = false;
		return error_set(err, r, "cannot start a thread for the save");
	}
	return 0;
}

API int roar_checkpoint_saver_start(struct roar_checkpoint_saver *s,
				    const struct roar_checkpoint_save *save)
{
	struct roar_checkpoint_save with_job;
	struct roar_error err = { "" };
	int r;

	join(s);
	if (s->is_new && s->error < 0) {
		s->is_new = false;
		return checkpoint_fail(s->error, &s->why);
	}
	checkpoint_with_job(save, s->uid, &with_job);
	r = ckpt_snapshot_take(&s->snapshot, &with_job, &err);
	if (r == 0)
		r = begin(s, &err);
	return r < 0 ? checkpoint_fail(r, &err) : 0;
}

static bool wait_until(struct roar_checkpoint_saver *s, int64_t timeout_ms)
{
	struct timespec until;
	bool ended = true;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += timeout_ms / 1000;
	until.tv_nsec += timeout_ms % 1000 * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	(void)pthread_mutex_lock(&s->lock);
	while (s->is_running && ended)
		ended = pthread_cond_clockwait(&s->ended, &s->lock,
					       CLOCK_MONOTONIC,
					       &until) != ETIMEDOUT;
	ended = !s->is_running;
	(void)pthread_mutex_unlock(&s->lock);
	return ended;
}

API int roar_checkpoint_saver_wait(struct roar_checkpoint_saver *s,
				   int64_t timeout_ms,
				   struct roar_checkpoint_result *ret)
{
	struct roar_error err = { "" };

	if (s->has_thread && timeout_ms >= 0 && !wait_until(s, timeout_ms))
		return checkpoint_fail(error_set(&err, -ETIMEDOUT,
						 "the save is under way"),
				       &err);
	join(s);
	if (!s->is_new)
		return checkpoint_fail(
			error_set(&err, -ENOENT, "no save was begun"), &err);
	s->is_new = false;
	if (s->error < 0)
		return checkpoint_fail(s->error, &s->why);
	if (ret)
		*ret = s->result;
	return 0;
}

API int roar_checkpoint_saver_progress(struct roar_checkpoint_saver *s,
				       uint64_t *ret_done, uint64_t *ret_total)
{
	bool is_running;

	*ret_done = atomic_load(&s->progress.done_bytes);
	*ret_total = atomic_load(&s->progress.total_bytes);
	(void)pthread_mutex_lock(&s->lock);
	is_running = s->is_running;
	(void)pthread_mutex_unlock(&s->lock);
	return is_running;
}
