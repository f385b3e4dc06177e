/* made.c - see made.h */
#include "run/made.h"

#include <errno.h>
#include <pthread.h>

#include "base/map.h"
#include "base/pool.h"

enum { NAMES_MAX = 10000 };

struct made {
	pthread_mutex_t lock; /* protects all below */
	struct map names; /* path -> itself */
	struct pool pool;
};

int made_new(struct made **ret_made)
{
	struct made *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	(void)pthread_mutex_init(&m->lock, NULL);
	*ret_made = m;
	return 0;
}

void made_free(struct made *m)
{
	if (!m)
		return;
	map_release(&m->names);
	pool_release(&m->pool);
	(void)pthread_mutex_destroy(&m->lock);
	free(m);
}

void made_add(struct made *m, const char *path, size_t len)
{
	(void)pthread_mutex_lock(&m->lock);
	if (m->names.count < NAMES_MAX && !map_get(&m->names, path, len)) {
		char *copy = pool_dup(&m->pool, path, len);

		if (copy)
			(void)map_set(&m->names, copy, len, copy);
	}
	(void)pthread_mutex_unlock(&m->lock);
}

bool made_has(void *ctx, const char *path, size_t len)
{
	struct made *m = ctx;
	bool has;

	(void)pthread_mutex_lock(&m->lock);
	has = map_get(&m->names, path, len) != NULL;
	(void)pthread_mutex_unlock(&m->lock);
	return has;
}
