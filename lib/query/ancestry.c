/* ancestry.c - see ancestry.h */
#include "query/ancestry.h"

#include <string.h>

#include "base/pool.h"
#include "base/vec.h"
#include "lineage/fold.h"
#include "query/producer.h"
#include "query/query.h"
#include "store/store.h"

struct visit {
	const struct store_job *job;
	size_t depth;
};

/* An input that is in the list. */
struct listed {
	const struct store_job *maker;
};

struct walk {
	struct query *query;
	unsigned flags;
	struct visit *queue;
	size_t n_queue, queue_cap;
	struct map jobs; /* id -> job: queued already */
	struct map seen; /* (artifact, path) -> struct listed */
	struct ancestor *found;
	size_t n_found, found_cap;
};

static int visit_later(struct walk *w, const struct store_job *job,
		       size_t depth)
{
	struct visit *visit;
	int r;

	if (map_get(&w->jobs, &job->id, sizeof(job->id)))
		return 0;
	r = map_set(&w->jobs, &job->id, sizeof(job->id), (void *)job);
	if (r < 0)
		return r;
	visit = VEC_PUSH(w->queue, w->n_queue, w->queue_cap);
	if (!visit)
		return -ENOMEM;
	*visit = (struct visit){ .job = job, .depth = depth };
	return 0;
}

/* Finds that content at that path in the list; *ret_new: it was not there. */
static int find_listed(struct walk *w, const struct store_file *row,
		       struct listed **ret, bool *ret_new)
{
	char *key = pool_printf(w->query->pool, "%lld %s",
				(long long)row->artifact_id, row->path);
	size_t len;

	if (!key)
		return -ENOMEM;
	len = strlen(key);
	*ret = map_get(&w->seen, key, len);
	*ret_new = !*ret;
	if (*ret)
		return 0;
	*ret = pool_zalloc(w->query->pool, sizeof(**ret));
	return *ret ? map_set(&w->seen, key, len, *ret) : -ENOMEM;
}

/* Lists `row` if it is new, and queues the job that made it. */
static int list_input(struct walk *w, const struct store_file *row,
		      const struct visit *visit, bool moved,
		      struct roar_error *err)
{
	struct listed *listed;
	struct ancestor *a;
	bool is_new;
	int r = find_listed(w, row, &listed, &is_new);

	if (r < 0 || (!is_new && !(w->flags & ANCESTRY_ALL_USES)))
		return r;
	if (is_new)
		r = producer_find(w->query, row, &listed->maker, err);
	if (r < 0)
		return r;
	a = VEC_PUSH(w->found, w->n_found, w->found_cap);
	if (!a)
		return -ENOMEM;
	*a = (struct ancestor){
		.row = row,
		.user = visit->job,
		.maker = listed->maker,
		.depth = visit->depth,
		.moved = moved,
		.again = !is_new,
	};
	if (listed->maker && is_new && (w->flags & ANCESTRY_DEEP))
		return visit_later(w, listed->maker, visit->depth + 1);
	return 0;
}

/* The job only renamed or linked this output: it is an input under its old name. */
static int list_moved(struct walk *w, const struct store_file *row,
		      const struct visit *visit, struct roar_error *err)
{
	struct store_file *old = pool_alloc(w->query->pool, sizeof(*old));

	if (!old)
		return -ENOMEM;
	*old = *row;
	old->path = row->origin;
	return list_input(w, old, visit, true, err);
}

static int visit_job(struct walk *w, struct visit this, struct roar_error *err)
{
	struct query *q = w->query;
	struct store_file *files;
	size_t n;
	int r;

	r = store_sources(q->store, q->pool, this.job->id, &files, &n, err);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		if (files[i].role == LINEAGE_INPUT)
			r = list_input(w, &files[i], &this, false, err);
		else if (files[i].role == LINEAGE_OUTPUT &&
			 producer_is_moved(&files[i]))
			r = list_moved(w, &files[i], &this, err);
	}
	return r;
}

int ancestry_walk(struct query *q, const struct store_job *job, unsigned flags,
		  struct ancestor **ret, size_t *ret_n, struct roar_error *err)
{
	struct walk w = { .query = q, .flags = flags };
	struct ancestor *copy = NULL;
	int snapshot = store_snapshot_begin(q->store, err);
	int r = snapshot < 0 ? snapshot : visit_later(&w, job, 1);

	for (size_t i = 0; r >= 0 && i < w.n_queue; i++)
		r = visit_job(&w, w.queue[i], err);
	if (snapshot > 0)
		store_snapshot_end(q->store);
	if (r >= 0) {
		copy = pool_alloc(q->pool, (w.n_found + 1) * sizeof(*copy));
		r = copy ? 0 : -ENOMEM;
	}
	if (r >= 0) {
		if (w.n_found)
			memcpy(copy, w.found, w.n_found * sizeof(*copy));
		*ret = copy;
		*ret_n = w.n_found;
	}
	map_release(&w.jobs);
	map_release(&w.seen);
	free(w.queue);
	free(w.found);
	return r;
}
