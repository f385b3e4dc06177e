/* ckpt_sources.c - see ckpt_sources.h */
#include "ckpt/ckpt_sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blob/blob.h"

struct ckpt_source {
	struct blob_reader *reader; /* NULL: not open */
	uint64_t size_bytes;
	unsigned n_users; /* threads that read now */
	char path[]; /* NUL-terminated */
};

void ckpt_sources_init(struct ckpt_sources *s, struct blob_store *store,
		       unsigned flags)
{
	*s = (struct ckpt_sources){ .store = store, .flags = flags };
	(void)pthread_mutex_init(&s->lock, NULL);
}

void ckpt_sources_release(struct ckpt_sources *s)
{
	struct ckpt_source *source;
	size_t pos = 0;

	while ((source = map_next(&s->map, &pos))) {
		blob_close_reader(source->reader);
		free(source);
	}
	map_release(&s->map);
	(void)pthread_mutex_destroy(&s->lock);
}

/* ---- with the lock held ---- */

static struct ckpt_source *find_or_add(struct ckpt_sources *s, const char *path)
{
	size_t len = strlen(path);
	struct ckpt_source *source = map_get(&s->map, path, len);

	if (source)
		return source;
	source = calloc(1, sizeof(*source) + len + 1);
	if (!source)
		return NULL;
	memcpy(source->path, path, len + 1);
	if (map_set(&s->map, source->path, len, source) == 0)
		return source;
	free(source);
	return NULL;
}

static void close_idle_source(struct ckpt_sources *s)
{
	struct ckpt_source *source;
	size_t pos = 0;

	while ((source = map_next(&s->map, &pos)))
		if (source->reader && !source->n_users) {
			blob_close_reader(source->reader);
			source->reader = NULL;
			s->n_open--;
			return;
		}
}

/* Opening a file under the lock holds up the other threads; on a disk that takes
 * microseconds, and in an object store once per file. */
static int open_source(struct ckpt_sources *s, struct ckpt_source *source)
{
	int r;

	if (source->reader)
		return 0;
	if (s->n_open >= CKPT_SOURCES_OPEN)
		close_idle_source(s);
	r = blob_open_reader(s->store, source->path, s->flags, &source->reader,
			     &source->size_bytes, NULL);
	if (r == 0)
		s->n_open++;
	return r;
}

/* ---- */

static int acquire(struct ckpt_sources *s, const char *path,
		   struct ckpt_source **ret)
{
	struct ckpt_source *source;
	int r = -ENOMEM;

	(void)pthread_mutex_lock(&s->lock);
	source = find_or_add(s, path);
	if (source)
		r = open_source(s, source);
	if (r == 0) {
		source->n_users++;
		*ret = source;
	}
	(void)pthread_mutex_unlock(&s->lock);
	return r;
}

static void release(struct ckpt_sources *s, struct ckpt_source *source)
{
	(void)pthread_mutex_lock(&s->lock);
	source->n_users--;
	(void)pthread_mutex_unlock(&s->lock);
}

int ckpt_sources_read(struct ckpt_sources *s, const char *path, uint64_t offset,
		      void *buf, size_t len)
{
	struct ckpt_source *source = NULL;
	int r = acquire(s, path, &source);

	if (r < 0)
		return r;
	if (offset > source->size_bytes || len > source->size_bytes - offset)
		r = -ENODATA;
	else if (len)
		r = blob_read(source->reader, offset, buf, len, NULL);
	release(s, source);
	return r;
}
