/* created_names.c - see created_names.h */
#include "run/created_names.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/pool.h"

enum {
	NAMES_MAX = 10000,
	/* Many times what a tracer takes to report; for all names together. */
	PATIENCE_MS = 500,
};

struct created_names {
	pthread_mutex_t lock; /* protects all fields below, between the tracer's
			       * thread and that of the git query; held briefly,
			       * and no other lock is taken with it */
	pthread_cond_t more; /* with `lock`: signalled for a name, or the end */
	bool ended;
	int64_t patient_until_ns; /* monotonic; 0: no lookup has waited yet */
	struct map names; /* path -> itself */
	struct pool pool;
};

int created_names_new(struct created_names **ret_names)
{
	struct created_names *m = calloc(1, sizeof(*m));
	pthread_condattr_t attr;

	if (!m)
		return -ENOMEM;
	(void)pthread_mutex_init(&m->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&m->more, &attr);
	(void)pthread_condattr_destroy(&attr);
	*ret_names = m;
	return 0;
}

void created_names_free(struct created_names *m)
{
	if (!m)
		return;
	map_release(&m->names);
	pool_release(&m->pool);
	(void)pthread_cond_destroy(&m->more);
	(void)pthread_mutex_destroy(&m->lock);
	free(m);
}

void created_names_add(struct created_names *m, const char *path, size_t len)
{
	(void)pthread_mutex_lock(&m->lock);
	if (m->names.count < NAMES_MAX && !map_get(&m->names, path, len)) {
		char *copy = pool_dup(&m->pool, path, len);

		if (copy)
			(void)map_set(&m->names, copy, len, copy);
		(void)pthread_cond_signal(&m->more);
	}
	(void)pthread_mutex_unlock(&m->lock);
}

void created_names_end(struct created_names *m)
{
	(void)pthread_mutex_lock(&m->lock);
	m->ended = true;
	(void)pthread_cond_signal(&m->more);
	(void)pthread_mutex_unlock(&m->lock);
}

/* With the lock held.  False when the time is over. */
static bool wait_for_more(struct created_names *m)
{
	struct timespec until;

	assert(pthread_mutex_trylock(&m->lock) == EBUSY);
	if (!m->patient_until_ns)
		m->patient_until_ns = clock_mono_ns() +
				      PATIENCE_MS * INT64_C(1000000);
	until.tv_sec = m->patient_until_ns / 1000000000;
	until.tv_nsec = m->patient_until_ns % 1000000000;
	return pthread_cond_timedwait(&m->more, &m->lock, &until) == 0;
}

/* By its name, or below a directory that was created elsewhere and renamed. */
static bool knows(const struct created_names *m, const char *path, size_t len)
{
	while (len > 0) {
		if (map_get(&m->names, path, len))
			return true;
		while (len > 0 && path[len - 1] != '/')
			len--;
		len -= len > 0; /* the slash */
	}
	return false;
}

bool created_names_has(struct created_names *m, const char *path, size_t len,
		       bool patient)
{
	bool has;

	(void)pthread_mutex_lock(&m->lock);
	while (!(has = knows(m, path, len)) && patient && !m->ended &&
	       wait_for_more(m))
		;
	(void)pthread_mutex_unlock(&m->lock);
	return has;
}
