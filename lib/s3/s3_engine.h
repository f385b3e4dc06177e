/* s3_engine.h - one thread that talks to object storage, for all threads of a process.
 *
 * It is started when there is work for it, and has a driver (s3_driver.h) with its loop.
 * The environment is read then.  A thread hands work over and waits until something has
 * changed; one lock guards what they share:
 *
 *	any thread			the engine's thread
 *	s3_engine_lock()
 *	s3_engine_add(work)	──▶	work->run(), which begins a call
 *	s3_engine_wait()	◀──	s3_engine_notify() in its end(), with the lock
 *	s3_engine_unlock()
 *
 * A child of fork() has no such thread; its first work starts one.  Connections are not shared
 * with the parent. */
#ifndef S3_ENGINE_H
#define S3_ENGINE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/list.h"

struct s3_client;

struct s3_work {
	struct list link; /* the engine's */
	bool is_gcs;
	/* Called once, by the engine's thread, without the lock.  `client` is NULL when there
	 * is none; then `error` and `why` tell the reason. */
	void (*run)(struct s3_work *w, struct s3_client *client, int error,
		    const char *why);
};

void s3_engine_lock(void);
void s3_engine_unlock(void);

/* All of the following are called with the lock. */

/* Fails when the engine cannot be started. */
int s3_engine_add(struct s3_work *w, struct roar_error *err);

/* Waits until something has changed, or for a moment: the caller looks again.  -EINTR when this
 * thread should not wait any more (source_set_interrupt()). */
int s3_engine_wait(struct roar_error *err);
void s3_engine_notify(void);

/* `child` is called in each child after fork(): work that was under way will not end. */
void s3_engine_at_fork(void (*child)(void));

#endif
