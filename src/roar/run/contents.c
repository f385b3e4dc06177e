/* contents.c - see contents.h */
#include "run/contents.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

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

struct content *contents_find(const struct lineage_file *file,
			      enum content_side side)
{
	struct content *c = file->user;

	while (c && c->side != side)
		c = c->next;
	return c;
}

static struct content *find_or_add(struct run *run, struct lineage_file *file,
				   enum content_side side)
{
	struct content *c = contents_find(file, side);

	if (c)
		return c;
	c = pool_zalloc(&run->pool, sizeof(*c));
	if (!c)
		return NULL;
	c->side = side == CONTENT_OUTPUT;
	c->next = file->user;
	file->user = c;
	return c;
}

/* A run without files to hash does without.  The hasher's threads see it, since they
 * are given tasks afterwards. */
static void open_cache(struct run *run)
{
	if (!run->cache_tried && run->project->config.hash_cache)
		(void)user_cache_open(&run->cache);
	run->cache_tried = true;
}

struct content *contents_submit(struct run *run, struct lineage_file *file,
				enum content_side side, const char *path,
				int fd, uint64_t size_bytes)
{
	struct content *c = find_or_add(run, file, side);
	struct hash_task *task;

	if (!c)
		return NULL;
	contents_collect(run, c);
	task = calloc(1, sizeof(*task));
	if (!task)
		return NULL;
	task->path = path;
	task->fd = fd;
	task->size_bytes = size_bytes;
	c->task = task;
	c->pending = true;
	c->firm = false;
	c->final = false;
	c->reported = false;
	c->cloned = false;
	open_cache(run);
	hasher_submit(run->hasher, task);
	return c;
}

struct content *contents_submit_clone(struct run *run,
				      struct lineage_file *file,
				      const char *path, int fd)
{
	struct content *c = find_or_add(run, file, CONTENT_INPUT);

	if (!c)
		return NULL;
	contents_drop(run, c);
	open_cache(run);
	/* The cache knows the file, not its clone. */
	if (contents_recall(run, file)) {
		(void)close(fd);
		return c;
	}
	c = contents_submit(run, file, CONTENT_INPUT, path, fd,
			    file->first.size);
	if (!c)
		return NULL;
	c->cloned = true;
	c->mark = stamp_mark(&file->first);
	return c;
}

/* A million of these would be half our memory: stamps can be asked for again,
 * other digests cannot. */
static struct content_extra *keep_extra(struct run *run,
					const struct file_hash *hash)
{
	enum { EXTRAS_MAX = 16384 };
	bool wanted = hash->digests.have & ~(digest_set)DIGEST_SET_BLAKE3;
	struct content_extra *extra;

	if (run->n_extras >= EXTRAS_MAX && !wanted)
		return NULL;
	/* Without other digests the room for them is not taken. */
	extra = pool_alloc(&run->pool,
			   wanted ? sizeof(*extra) :
				    offsetof(struct content_extra, digests));
	if (!extra)
		return NULL;
	extra->stamp = hash->stamp;
	extra->has_digests = wanted;
	if (wanted)
		extra->digests = hash->digests;
	run->n_extras++;
	return extra;
}

static void keep(struct run *run, struct content *c,
		 const struct file_hash *hash)
{
	int64_t since = hash->taken_ns - run->meta.started_ns;

	if (!c->cloned)
		c->mark = stamp_mark(&hash->stamp);
	/* A tick may have begun before the run. */
	c->taken_ms = (int32_t)(since / 1000000) - (since < 0);
	memcpy(c->blake3, hash->digests.blake3, sizeof(c->blake3));
	c->extra = keep_extra(run, hash);
}

void contents_collect(struct run *run, struct content *c)
{
	struct hash_task *task = c->task;

	if (!c->pending)
		return;
	hasher_wait(run->hasher, task);
	c->pending = false;
	c->result = (int16_t)task->result;
	c->cached = task->cached;
	c->extra = NULL;
	if (task->result == 0)
		keep(run, c, &task->hash);
	free(task);
}

void contents_try_collect(struct run *run, struct content *c)
{
	if (c->pending && atomic_load(&c->task->state) == HASH_DONE)
		contents_collect(run, c);
}

bool contents_is_unbegun(const struct content *c)
{
	return c->pending && atomic_load(&c->task->state) == HASH_QUEUED;
}

bool contents_recall(struct run *run, const struct lineage_file *file)
{
	struct content *c = contents_find(file, CONTENT_INPUT);
	struct file_hash hash = { .stamp = file->first,
				  .taken_ns = file->first_ns };

	if (!c || c->pending || !run->cache ||
	    stamp_is_racy(&file->first, file->first_ns) ||
	    !stability_trusts_stamps(&run->stability, file->path,
				     file->first.dev) ||
	    !digest_cache_get(run->cache, &file->first,
			      run->options.want | DIGEST_SET_BLAKE3,
			      &hash.digests))
		return false;
	c->result = 0;
	c->cached = true;
	keep(run, c, &hash);
	return true;
}

bool contents_take_reported(struct run *run, struct lineage_file *file,
			    const struct stamp *stamp, int64_t tick_ns,
			    const uint8_t blake3[BLAKE3_LEN])
{
	struct content *c = contents_find(file, CONTENT_OUTPUT);
	struct file_hash hash = { .stamp = *stamp, .taken_ns = tick_ns };

	if (c && contents_is_unbegun(c))
		contents_drop(run, c);
	if (c && (c->pending || c->result == 0))
		return false;
	c = find_or_add(run, file, CONTENT_OUTPUT);
	if (!c)
		return false;
	hash.digests.have = DIGEST_SET_BLAKE3;
	memcpy(hash.digests.blake3, blake3, BLAKE3_LEN);
	c->result = 0;
	c->cached = false;
	c->reported = true;
	keep(run, c, &hash);
	return true;
}

bool contents_is_of_first(const struct content *c,
			  const struct lineage_file *file)
{
	unsigned moves = LINEAGE_REMOVED | LINEAGE_MOVED_AWAY |
			 LINEAGE_LINKED_FROM;
	const struct stamp *first = &file->first;
	struct stamp hashed;

	assert(!c->pending);
	if (c->result < 0)
		return false;
	if (c->mark == stamp_mark(first))
		return true;
	if (!(file->seen & moves) || !c->extra)
		return false;
	hashed = c->extra->stamp;
	hashed.ctime_ns = first->ctime_ns;
	return stamp_equal(&hashed, first);
}

void contents_drop(struct run *run, struct content *c)
{
	if (!c->pending)
		return;
	hasher_cancel(run->hasher, c->task);
	contents_collect(run, c);
}

int64_t contents_taken_ns(const struct run *run, const struct content *c)
{
	return run->meta.started_ns + (int64_t)c->taken_ms * 1000000;
}

void contents_get(const struct content *c, struct digests *ret)
{
	assert(!c->pending && c->result == 0);
	if (c->extra && c->extra->has_digests) {
		*ret = c->extra->digests;
		return;
	}
	memset(ret, 0, sizeof(*ret));
	ret->have = DIGEST_SET_BLAKE3;
	memcpy(ret->blake3, c->blake3, sizeof(c->blake3));
}
