/* collection_fold.c - see collection_fold.h */
#include "query/collection_fold.h"

#include <errno.h>
#include <string.h>

#include "base/pool.h"
#include "query/query.h"

void collection_fold_release(struct collection_fold *fold)
{
	map_release(&fold->groups);
	map_release(&fold->jobs);
}

/* The key of a directory in one job: a binary head, then its path. */
struct key {
	struct {
		int64_t job_id;
		uint32_t role;
		uint32_t unused;
	} head;
	char path[4096];
};

/* Its length; 0: no directory has such a path. */
static size_t make_key(struct key *key, int64_t job_id, unsigned role,
		       const char *path, size_t len)
{
	if (len >= sizeof(key->path))
		return 0;
	memset(&key->head, 0, sizeof(key->head));
	key->head.job_id = job_id;
	key->head.role = role;
	memcpy(key->path, path, len);
	return sizeof(key->head) + len;
}

static bool is_folded(const struct store_collection *c)
{
	return c->kind != COLLECTION_PLAIN ||
	       c->n_members >= COLLECTION_FOLD_MIN;
}

static int add_group(struct collection_fold *fold,
		     const struct store_collection_use *use)
{
	struct collection_group *group;
	struct key key;
	size_t len = make_key(&key, use->job_id, use->role, use->path,
			      strlen(use->path));
	char *copy;

	if (!len || !is_folded(&use->collection))
		return 0;
	group = pool_zalloc(fold->query->pool, sizeof(*group));
	copy = pool_dup(fold->query->pool, &key, len);
	if (!group || !copy)
		return -ENOMEM;
	group->use = use;
	return map_set(&fold->groups, copy, len, group);
}

static int read_job(struct collection_fold *fold, int64_t job_id,
		    struct roar_error *err)
{
	struct query *q = fold->query;
	struct store_collection_use *uses;
	int64_t *id;
	size_t n;
	int r;

	if (map_get(&fold->jobs, &job_id, sizeof(job_id)))
		return 0;
	r = store_job_collections(q->store, q->pool, job_id, &uses, &n, err);
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = add_group(fold, &uses[i]);
	if (r < 0)
		return r;
	id = pool_alloc(q->pool, sizeof(*id));
	if (!id)
		return -ENOMEM;
	*id = job_id;
	return map_set(&fold->jobs, id, sizeof(*id), id);
}

/* A known layout wins over the plain directory around it. */
struct collection_group *
collection_fold_find(const struct collection_fold *fold, int64_t job_id,
		     unsigned role, const char *path)
{
	struct collection_group *plain = NULL;
	size_t len = strlen(path);
	struct key key;

	if (!fold->groups.count || !make_key(&key, job_id, role, path, len))
		return NULL;
	while (len) {
		struct collection_group *group;

		if (path[--len] != '/')
			continue;
		group = map_get(&fold->groups, &key, sizeof(key.head) + len);
		if (group && group->use->collection.kind != COLLECTION_PLAIN)
			return group;
		if (group)
			plain = group;
	}
	return plain;
}

int collection_fold_count(struct collection_fold *fold, int64_t job_id,
			  unsigned role, const char *path, const void *maker,
			  struct roar_error *err)
{
	struct collection_group *group;
	int r = read_job(fold, job_id, err);

	if (r < 0)
		return r;
	group = collection_fold_find(fold, job_id, role, path);
	if (!group)
		return 0;
	group->mixed |= group->n && group->maker != maker;
	group->maker = maker;
	group->n++;
	return 0;
}

bool collection_group_is_whole(const struct collection_group *group)
{
	return !group->mixed && group->n == group->use->collection.n_members;
}
