/* hashes.c - see hashes.h */
#include "run/hashes.h"

#include <string.h>

#include "base/map.h"
#include "hash/digest/digest_cache.h"
#include "hash/file/stability.h"
#include "hash/user_cache.h"
#include "project/project.h"
#include "run/run.h"

uint64_t stamp_mark(const struct stamp *s)
{
	_Static_assert(sizeof(*s) == 40, "no padding to hash");
	return map_hash(s, sizeof(*s));
}

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
	o->side = side == OUTCOME_OUTPUT;
	o->next = file->user;
	file->user = o;
	return o;
}

/* A run without files to hash does without.  The hasher's threads see it, since they
 * are given tasks afterwards. */
static void open_cache(struct run *run)
{
	if (!run->cache_tried && run->project->config.hash_cache)
		(void)user_cache_open(&run->cache);
	run->cache_tried = true;
}

struct outcome *hashes_submit(struct run *run, struct lineage_file *file,
			      enum outcome_side side, const char *path, int fd,
			      uint64_t size_bytes)
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
	task->size_bytes = size_bytes;
	o->task = task;
	o->pending = true;
	o->firm = false;
	o->final = false;
	open_cache(run);
	hasher_submit(run->hasher, task);
	return o;
}

/* A million of these would be half our memory: stamps can be asked for again,
 * other digests cannot. */
static struct outcome_extra *keep_extra(struct run *run,
					const struct file_hash *hash)
{
	enum { EXTRAS_MAX = 16384 };
	bool wanted = hash->digests.have & ~(digest_set)DIGEST_SET_BLAKE3;
	struct outcome_extra *extra;

	if (run->n_extras >= EXTRAS_MAX && !wanted)
		return NULL;
	/* Without other digests the room for them is not taken. */
	extra = pool_alloc(&run->pool,
			   wanted ? sizeof(*extra) :
				    offsetof(struct outcome_extra, digests));
	if (!extra)
		return NULL;
	extra->stamp = hash->stamp;
	extra->has_digests = wanted;
	if (wanted)
		extra->digests = hash->digests;
	run->n_extras++;
	return extra;
}

static void keep(struct run *run, struct outcome *o,
		 const struct file_hash *hash)
{
	int64_t since = hash->taken_ns - run->meta.started_ns;

	o->mark = stamp_mark(&hash->stamp);
	/* A tick may have begun before the run. */
	o->taken_ms = (int32_t)(since / 1000000) - (since < 0);
	memcpy(o->blake3, hash->digests.blake3, sizeof(o->blake3));
	o->extra = keep_extra(run, hash);
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
	o->extra = NULL;
	if (task->result == 0)
		keep(run, o, &task->hash);
	free(task);
}

void hashes_try_collect(struct run *run, struct outcome *o)
{
	if (o->pending && atomic_load(&o->task->state) == HASH_DONE)
		hashes_collect(run, o);
}

bool hashes_is_unbegun(const struct outcome *o)
{
	return o->pending && atomic_load(&o->task->state) == HASH_QUEUED;
}

bool hashes_recall(struct run *run, const struct lineage_file *file)
{
	struct outcome *o = hashes_find(file, OUTCOME_INPUT);
	struct file_hash hash = { .stamp = file->first,
				  .taken_ns = file->first_ns };

	if (!o || o->pending || !run->cache ||
	    stamp_is_racy(&file->first, file->first_ns) ||
	    !still_trusts(&run->still, file->path, file->first.dev) ||
	    !digest_cache_get(run->cache, &file->first,
			      run->options.want | DIGEST_SET_BLAKE3,
			      &hash.digests))
		return false;
	o->result = 0;
	o->cached = true;
	keep(run, o, &hash);
	return true;
}

bool hashes_is_of_first(const struct outcome *o,
			const struct lineage_file *file)
{
	unsigned moves = LINEAGE_REMOVED | LINEAGE_MOVED_AWAY |
			 LINEAGE_LINKED_FROM;
	const struct stamp *first = &file->first;
	struct stamp hashed;

	if (o->result < 0)
		return false;
	if (o->mark == stamp_mark(first))
		return true;
	if (!(file->seen & moves) || !o->extra)
		return false;
	hashed = o->extra->stamp;
	hashed.ctime_ns = first->ctime_ns;
	return stamp_equal(&hashed, first);
}

void hashes_drop(struct run *run, struct outcome *o)
{
	if (!o->pending)
		return;
	hasher_cancel(run->hasher, o->task);
	hashes_collect(run, o);
}

int64_t hashes_taken_ns(const struct run *run, const struct outcome *o)
{
	return run->meta.started_ns + (int64_t)o->taken_ms * 1000000;
}

void hashes_get(const struct outcome *o, struct digests *ret)
{
	if (o->extra && o->extra->has_digests) {
		*ret = o->extra->digests;
		return;
	}
	memset(ret, 0, sizeof(*ret));
	ret->have = DIGEST_SET_BLAKE3;
	memcpy(ret->blake3, o->blake3, sizeof(o->blake3));
}
