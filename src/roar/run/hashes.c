/* hashes.c - see hashes.h */
#include "run/hashes.h"

#include <string.h>

#include "run/run.h"

struct outcome *hashes_find(const struct lineage_file *file,
			    enum outcome_side side)
{
	struct outcome *o = file->user;

	while (o && o->side != side)
		o = o->next;
	return o;
}

static struct outcome *find_or_add(struct run *run, struct lineage_file *file,
				   enum outcome_side side)
{
	struct outcome *o = hashes_find(file, side);

	if (o)
		return o;
	o = pool_zalloc(&run->pool, sizeof(*o));
	if (!o)
		return NULL;
	o->side = (uint8_t)side;
	o->next = file->user;
	file->user = o;
	return o;
}

struct outcome *hashes_submit(struct run *run, struct lineage_file *file,
			      enum outcome_side side, const char *path, int fd)
{
	struct outcome *o = find_or_add(run, file, side);
	struct hash_task *task;

	if (!o)
		return NULL;
	if (o->pending)
		hashes_collect(run, o);
	task = calloc(1, sizeof(*task));
	if (!task)
		return NULL;
	task->path = path;
	task->fd = fd;
	o->task = task;
	o->pending = true;
	hasher_submit(run->hasher, task);
	return o;
}

/* Digests other than BLAKE3 are rare, so they are kept apart. */
static struct digests *keep_more(struct run *run, const struct digests *d)
{
	struct digests *more;

	if (!(d->have & ~(digest_set)DIGEST_SET_BLAKE3))
		return NULL;
	more = pool_alloc(&run->pool, sizeof(*more));
	if (more)
		*more = *d;
	return more;
}

void hashes_collect(struct run *run, struct outcome *o)
{
	struct hash_task *task = o->task;

	if (!o->pending)
		return;
	hasher_wait(run->hasher, task);
	o->pending = false;
	o->result = (int16_t)task->result;
	o->cached = task->cached;
	o->more = NULL;
	if (task->result == 0) {
		o->stamp = task->hash.stamp;
		o->taken_ns = task->hash.taken_ns;
		memcpy(o->blake3, task->hash.digests.blake3, sizeof(o->blake3));
		o->more = keep_more(run, &task->hash.digests);
	}
	free(task);
}

void hashes_get(const struct outcome *o, struct digests *ret)
{
	if (o->more) {
		*ret = *o->more;
		return;
	}
	memset(ret, 0, sizeof(*ret));
	ret->have = DIGEST_SET_BLAKE3;
	memcpy(ret->blake3, o->blake3, sizeof(o->blake3));
}
