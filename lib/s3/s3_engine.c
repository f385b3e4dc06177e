/* s3_engine.c - see s3_engine.h */
#include "s3/s3_engine.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "base/thread.h"
#include "net/loop.h"
#include "reader/sample_source.h"
#include "s3/s3_driver.h"

enum { MAX_CONNECTIONS = 16 };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_running;
	bool stop;
	pthread_t thread;
	struct s3_driver *driver;
	struct loop_fd wake; /* an eventfd */
	struct list works;
	void (*child)(void);
} engine = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
	.wake = { .fd = -1 },
	.works = { &engine.works, &engine.works },
};

void s3_engine_lock(void)
{
	(void)pthread_mutex_lock(&engine.lock);
}

void s3_engine_unlock(void)
{
	(void)pthread_mutex_unlock(&engine.lock);
}

void s3_engine_notify(void)
{
	(void)pthread_cond_broadcast(&engine.changed);
}

int s3_engine_wait(struct roar_error *err)
{
	struct timespec until;
	bool is_interrupted;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += SOURCE_ASK_MS * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	if (pthread_cond_clockwait(&engine.changed, &engine.lock,
				   CLOCK_MONOTONIC, &until) != ETIMEDOUT)
		return 0;
	/* Who is asked may have to wait for a thread that waits for the lock. */
	s3_engine_unlock();
	is_interrupted = source_is_interrupted();
	s3_engine_lock();
	return is_interrupted ? error_set(err, -EINTR, "interrupted") : 0;
}

/* ---- its thread ---- */

static void run_work(struct s3_work *w)
{
	struct s3_client *client = NULL;
	struct roar_error err = { "" };
	int r = s3_driver_client(engine.driver, w->is_gcs, &client, &err);

	w->run(w, r < 0 ? NULL : client, r, err.text);
}

static void take_works(struct loop_fd *f, uint32_t events)
{
	uint64_t n;

	(void)events;
	if (read(f->fd, &n, sizeof(n)) < 0)
		return;
	s3_engine_lock();
	while (!list_empty(&engine.works)) {
		struct s3_work *w = container_of(engine.works.next,
						 struct s3_work, link);

		list_remove(&w->link);
		s3_engine_unlock();
		run_work(w);
		s3_engine_lock();
	}
	if (engine.stop)
		loop_stop(s3_driver_loop(engine.driver));
	s3_engine_unlock();
}

static void *talk(void *arg)
{
	(void)arg;
	(void)loop_run(s3_driver_loop(engine.driver));
	return NULL;
}

static void wake(void)
{
	const uint64_t one = 1;

	(void)!write(engine.wake.fd, &one, sizeof(one)); /* never full */
}

/* ---- the begin and the end ---- */

/* Runs before the end of the libraries that the thread uses. */
static void stop_at_exit(void)
{
	bool was_running;

	s3_engine_lock();
	was_running = engine.is_running;
	engine.stop = true;
	engine.is_running = false;
	if (was_running)
		wake();
	s3_engine_unlock();
	if (was_running)
		(void)pthread_join(engine.thread, NULL);
}

/* The parent's thread may have been anywhere in the driver, so that nothing of it can be
 * freed; its connections stay open here, unused. */
static void begin_child(void)
{
	engine.changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	list_init(&engine.works);
	if (engine.is_running) {
		loop_abandon(s3_driver_loop(engine.driver));
		closep(&engine.wake.fd);
		engine.wake.fd = -1;
		engine.driver = NULL;
		engine.is_running = false;
	}
	if (engine.child)
		engine.child();
	s3_engine_unlock();
}

static void prepare_process(void)
{
	(void)pthread_atfork(s3_engine_lock, s3_engine_unlock, begin_child);
	(void)atexit(stop_at_exit);
}

static int start_thread(void)
{
	int r;

	engine.wake = (struct loop_fd){ .ready = take_works };
	engine.wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (engine.wake.fd < 0)
		return -errno;
	r = loop_add(s3_driver_loop(engine.driver), &engine.wake, EPOLLIN);
	if (r == 0)
		r = thread_start(&engine.thread, NULL, talk, NULL);
	return r;
}

static int start(bool is_gcs, struct roar_error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct s3_client *client;
	int r;

	if (engine.is_running)
		return 0;
	if (engine.stop)
		return error_set(err, -ESHUTDOWN, "the program ends");
	r = s3_driver_new(MAX_CONNECTIONS, &engine.driver, err);
	/* Both, here: another thread must not read the environment.  What is wrong with the
	 * other one is said when it is needed. */
	if (r == 0)
		r = s3_driver_client(engine.driver, is_gcs, &client, err);
	if (r == 0)
		(void)s3_driver_client(engine.driver, !is_gcs, &client, NULL);
	if (r == 0) {
		r = start_thread();
		if (r < 0)
			(void)error_set(err, r,
					"cannot start a thread for object "
					"storage: %s",
					strerror(-r));
	}
	if (r < 0) {
		s3_driver_free(engine.driver);
		engine.driver = NULL;
		closep(&engine.wake.fd);
		engine.wake.fd = -1;
		return r;
	}
	(void)pthread_once(&once, prepare_process);
	engine.is_running = true;
	return 0;
}

int s3_engine_add(struct s3_work *w, struct roar_error *err)
{
	int r = start(w->is_gcs, err);

	if (r < 0)
		return r;
	list_add(&engine.works, &w->link);
	wake();
	return 0;
}

void s3_engine_at_fork(void (*child)(void))
{
	engine.child = child;
}
