/* export_set.c - see export_set.h */
#include "export/export_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/path.h"
#include "base/pool.h"
#include "base/vec.h"
#include "event/event.h"
#include "lineage/fold.h"
#include "lineage/graph.h"
#include "query/object_content.h"
#include "query/producer.h"
#include "query/query.h"
#include "query/variant.h"
#include "store/store.h"

/* One role of a file in a job of the set. */
struct use {
	struct graph_file file; /* the key of the entity: path and artifact */
	uint32_t entity;
	bool is_object;
};

struct loading {
	struct export_set *set;
	struct pool *pool;
	struct roar_error *err;
	struct use *uses; /* in the order of the jobs */
	size_t n_uses, cap_uses;
	size_t *first_use; /* by job; one more for the end */
	struct graph_job *nodes; /* by job */
	struct graph_file *files; /* by use, for the graph */
	struct map by_key; /* path and artifact -> number of the entity + 1 */
	size_t cap_entities;
};

static int by_id(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* ---- entities ---- */

static struct export_entity *find_entity(struct loading *l, const char *path,
					 int64_t artifact, uint32_t *ret)
{
	struct export_set *set = l->set;
	char *key = pool_printf(l->pool, "%lld %s", (long long)artifact, path);
	struct export_entity *e;
	uintptr_t known;

	if (!key)
		return NULL;
	known = (uintptr_t)map_get(&l->by_key, key, strlen(key));
	if (known) {
		*ret = (uint32_t)(known - 1);
		return &set->entities[known - 1];
	}
	e = VEC_PUSH(set->entities, set->n_entities, l->cap_entities);
	if (!e || map_set(&l->by_key, key, strlen(key),
			  (void *)(uintptr_t)set->n_entities) < 0)
		return NULL;
	*ret = (uint32_t)(set->n_entities - 1);
	*e = (struct export_entity){
		.path = path,
		.name = path_is_under(path, set->root) ?
				path_relative(path, set->root) :
				path,
		.artifact_id = artifact,
		.maker = EXPORT_NONE,
		.copy_of = EXPORT_NONE,
		.is_moved_only = true,
	};
	return e;
}

static int add_use(struct loading *l, const struct store_file *row,
		   struct graph_file file)
{
	struct use *use = VEC_PUSH(l->uses, l->n_uses, l->cap_uses);
	struct export_entity *e;

	if (!use)
		return -ENOMEM;
	use->file = file;
	e = find_entity(l, file.path, file.artifact, &use->entity);
	if (!e)
		return -ENOMEM;
	e->size = file.size;
	e->is_object = row->ftype == EVENT_FTYPE_OBJECT;
	if (!file.is_moved)
		e->is_moved_only = false;
	if (row->digests.have)
		e->digests = row->digests;
	return 0;
}

static int read_job(struct loading *l, size_t i, int64_t id)
{
	struct query *q = l->set->query;
	struct export_job *job = &l->set->jobs[i];
	struct store_file *rows;
	size_t n;
	int r = query_job(q, id, &job->job, l->err);

	if (r == 0 && !job->job)
		r = error_set(l->err, -EAGAIN,
			      "a job was removed while the record was read: "
			      "try again");
	if (r == 0)
		r = store_files(q->store, q->pool, id, false, &rows, &n,
				l->err);
	if (r == 0)
		r = object_content_share(q->pool, rows, n);
	l->first_use[i] = l->n_uses;
	for (size_t k = 0; r == 0 && k < n; k++) {
		if (!(rows[k].role & (LINEAGE_INPUT | LINEAGE_OUTPUT)))
			continue;
		r = add_use(l, &rows[k], producer_file(&rows[k]));
		if (r == 0 && producer_is_moved(&rows[k]))
			r = add_use(l, &rows[k], producer_moved_file(&rows[k]));
	}
	l->first_use[i + 1] = l->n_uses;
	return r;
}

/* Rows have the BLAKE3 only. */
static int read_digests(struct loading *l)
{
	struct query *q = l->set->query;
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->set->n_entities; i++) {
		struct export_entity *e = &l->set->entities[i];
		struct store_artifact artifact;

		if (e->artifact_id <= 0 || !e->digests.have)
			continue;
		r = store_artifact(q->store, q->pool, e->artifact_id, &artifact,
				   l->err);
		if (r >= 0)
			e->digests = artifact.digests;
	}
	return r < 0 ? r : 0;
}

/* ---- edges ---- */

static int list_edges(struct loading *l, size_t i)
{
	struct export_job *job = &l->set->jobs[i];
	size_t n = l->first_use[i + 1] - l->first_use[i];
	uint32_t *inputs = pool_alloc(l->pool, (n + 1) * sizeof(*inputs));
	uint32_t *outputs = pool_alloc(l->pool, (n + 1) * sizeof(*outputs));

	if (!inputs || !outputs)
		return -ENOMEM;
	for (size_t k = l->first_use[i]; k < l->first_use[i + 1]; k++) {
		const struct use *use = &l->uses[k];

		if (use->file.is_output) {
			outputs[job->n_outputs++] = use->entity;
			l->set->entities[use->entity].maker = (uint32_t)i;
		} else {
			inputs[job->n_inputs++] = use->entity;
			l->set->entities[use->entity].n_users++;
		}
	}
	job->inputs = inputs;
	job->outputs = outputs;
	return 0;
}

/* The entity that `maker` wrote with the content of the input. */
static void note_copy(struct loading *l, const struct use *use, uint32_t maker)
{
	struct export_entity *e = &l->set->entities[use->entity];
	const struct export_job *job = &l->set->jobs[maker];

	if (e->maker != EXPORT_NONE || e->artifact_id == 0)
		return;
	for (size_t k = 0; k < job->n_outputs; k++)
		if (l->set->entities[job->outputs[k]].artifact_id ==
		    e->artifact_id)
			e->copy_of = job->outputs[k];
}

static int link_job(struct loading *l, const struct graph *graph, size_t i,
		    uint32_t *mark)
{
	struct export_job *job = &l->set->jobs[i];
	size_t n = l->first_use[i + 1] - l->first_use[i];
	uint32_t *deps = pool_alloc(l->pool, (n + 1) * sizeof(*deps));

	if (!deps)
		return -ENOMEM;
	for (size_t k = l->first_use[i]; k < l->first_use[i + 1]; k++) {
		const struct use *use = &l->uses[k];
		uint32_t maker = use->file.is_output ?
					 GRAPH_NONE :
					 graph_maker(graph, &l->files[k]);

		if (maker == GRAPH_NONE || maker == i)
			continue;
		note_copy(l, use, maker);
		if (mark[maker] == i + 1)
			continue;
		mark[maker] = (uint32_t)(i + 1);
		deps[job->n_deps++] = maker;
	}
	job->deps = deps;
	return 0;
}

static int link_jobs(struct loading *l)
{
	CLEANUP(graph_freep) struct graph *graph = NULL;
	size_t n_jobs = l->set->n_jobs;
	uint32_t *mark;
	int r;

	l->files = pool_alloc(l->pool, (l->n_uses + 1) * sizeof(*l->files));
	mark = pool_zalloc(l->pool, (n_jobs + 1) * sizeof(*mark));
	if (!l->files || !mark)
		return -ENOMEM;
	for (size_t k = 0; k < l->n_uses; k++)
		l->files[k] = l->uses[k].file;
	r = graph_new(l->nodes, n_jobs, l->files, l->n_uses, true, &graph);
	for (size_t i = 0; r == 0 && i < n_jobs; i++)
		r = list_edges(l, i);
	for (size_t i = 0; r == 0 && i < n_jobs; i++)
		r = link_job(l, graph, i, mark);
	return r;
}

/* ---- order ---- */

struct ordering {
	const struct export_set *set;
	uint32_t *order; /* jobs, in their new order */
	uint32_t n;
	bool *is_met;
	uint32_t *stack; /* the path from a root to the current job */
	size_t *next_dep; /* by depth of the path */
};

/* Depth first, dependencies before the job, without recursion. */
static void place(struct ordering *o, uint32_t root)
{
	size_t depth = 0;

	o->stack[0] = root;
	o->next_dep[0] = 0;
	o->is_met[root] = true;
	for (;;) {
		const struct export_job *job = &o->set->jobs[o->stack[depth]];

		if (o->next_dep[depth] < job->n_deps) {
			uint32_t dep = job->deps[o->next_dep[depth]++];

			if (o->is_met[dep])
				continue;
			o->is_met[dep] = true;
			o->stack[++depth] = dep;
			o->next_dep[depth] = 0;
			continue;
		}
		o->order[o->n++] = o->stack[depth];
		if (!depth--)
			return;
	}
}

static int renumber(struct loading *l, const uint32_t *order)
{
	struct export_set *set = l->set;
	struct export_job *jobs = pool_alloc(l->pool,
					     (set->n_jobs + 1) * sizeof(*jobs));
	uint32_t *new_of = pool_alloc(l->pool,
				      (set->n_jobs + 1) * sizeof(*new_of));

	if (!jobs || !new_of)
		return -ENOMEM;
	for (size_t i = 0; i < set->n_jobs; i++) {
		jobs[i] = set->jobs[order[i]];
		new_of[order[i]] = (uint32_t)i;
	}
	for (size_t i = 0; i < set->n_jobs; i++)
		for (size_t k = 0; k < jobs[i].n_deps; k++)
			((uint32_t *)jobs[i].deps)[k] = new_of[jobs[i].deps[k]];
	for (size_t i = 0; i < set->n_entities; i++)
		if (set->entities[i].maker != EXPORT_NONE)
			set->entities[i].maker = new_of[set->entities[i].maker];
	set->jobs = jobs;
	return 0;
}

/* Build steps first, then by step and execution: the order of lists of roar. */
static int by_step(const void *a, const void *b, void *ctx)
{
	const struct export_set *set = ctx;
	const struct store_job *x = set->jobs[*(const uint32_t *)a].job;
	const struct store_job *y = set->jobs[*(const uint32_t *)b].job;
	int kinds = strcmp(x->kind, y->kind);

	if (kinds)
		return kinds;
	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int order_jobs(struct loading *l)
{
	uint32_t *roots = pool_alloc(l->pool,
				     (l->set->n_jobs + 1) * sizeof(*roots));
	size_t n = l->set->n_jobs;
	struct ordering o = {
		.set = l->set,
		.order = pool_alloc(l->pool, (n + 1) * sizeof(*o.order)),
		.is_met = pool_zalloc(l->pool, n + 1),
		.stack = pool_alloc(l->pool, (n + 1) * sizeof(*o.stack)),
		.next_dep = pool_alloc(l->pool, (n + 1) * sizeof(*o.next_dep)),
	};

	if (!roots || !o.order || !o.is_met || !o.stack || !o.next_dep)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		roots[i] = i;
	if (n)
		qsort_r(roots, n, sizeof(*roots), by_step, l->set);
	for (uint32_t i = 0; i < n; i++)
		if (!o.is_met[roots[i]])
			place(&o, roots[i]);
	return renumber(l, o.order);
}

/* "@2", or "@2.1" where another execution of the step is in the set. */
static int name_jobs(struct loading *l)
{
	CLEANUP(map_release) struct map seen = MAP_INIT;
	struct export_set *set = l->set;

	for (size_t i = 0; i < set->n_jobs; i++) {
		struct export_job *job = &set->jobs[i];
		const struct store_job *j = job->job;
		char *key = pool_printf(l->pool, "%lld@%s%lld",
					(long long)j->session_id,
					j->kind[0] == 'b' ? "B" : "",
					(long long)j->step);
		struct export_job *other;

		if (!key)
			return -ENOMEM;
		job->ref = strchr(key, '@');
		other = map_get(&seen, key, strlen(key));
		if (!other) {
			if (map_set(&seen, key, strlen(key), job) < 0)
				return -ENOMEM;
			continue;
		}
		if (!strchr(other->ref, '.'))
			other->ref = pool_printf(l->pool, "%s.%lld", other->ref,
						 (long long)other->job->attempt);
		job->ref = pool_printf(l->pool, "%s.%lld", job->ref,
				       (long long)j->attempt);
		if (!other->ref || !job->ref)
			return -ENOMEM;
	}
	return 0;
}

/* ---- all of it ---- */

static int load(struct loading *l, const int64_t *ids)
{
	struct export_set *set = l->set;
	size_t n = set->n_jobs;
	int r = 0;

	set->jobs = pool_zalloc(l->pool, (n + 1) * sizeof(*set->jobs));
	l->first_use = pool_zalloc(l->pool, (n + 1) * sizeof(*l->first_use));
	l->nodes = pool_zalloc(l->pool, (n + 1) * sizeof(*l->nodes));
	if (!set->jobs || !l->first_use || !l->nodes)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = read_job(l, i, ids[i]);
		/* Every execution is a node of its own. */
		if (r == 0)
			l->nodes[i] = (struct graph_job){
				.id = ids[i],
				.step = ids[i],
				.started_ns = set->jobs[i].job->started_ns,
			};
	}
	if (r == 0)
		r = read_digests(l);
	if (r == 0)
		r = link_jobs(l);
	if (r == 0)
		r = order_jobs(l);
	return r == 0 ? name_jobs(l) : r;
}

/* A restored job did not run: that from which its outputs are made them. */
static int replace_restored(struct loading *l, int64_t *ids, size_t *n)
{
	const struct store_job *job;
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < *n; i++) {
		r = query_job(l->set->query, ids[i], &job, l->err);
		if (r < 0 || !job || !variant_is_restored(job))
			continue;
		r = variant_restored_from(l->set->query, job, &job, l->err);
		if (r >= 0 && job)
			ids[i] = job->id;
	}
	if (*n)
		qsort(ids, *n, sizeof(*ids), by_id);
	for (size_t i = 0; i < *n; i++)
		if (!kept || ids[kept - 1] != ids[i])
			ids[kept++] = ids[i];
	*n = kept;
	return r;
}

int export_set_load(struct query *q, const char *root, const int64_t *ids,
		    size_t n_ids, struct export_set *ret,
		    struct roar_error *err)
{
	struct export_set set = { .query = q, .root = root, .n_jobs = n_ids };
	struct loading l = { .set = &set, .pool = q->pool, .err = err };
	struct export_entity *entities = NULL;
	int64_t *sorted;
	int r = -ENOMEM;

	sorted = pool_alloc(q->pool, (n_ids + 1) * sizeof(*sorted));
	if (sorted) {
		if (n_ids)
			memcpy(sorted, ids, n_ids * sizeof(*ids));
		r = replace_restored(&l, sorted, &set.n_jobs);
		if (r >= 0)
			r = load(&l, sorted);
	}
	if (r == 0) {
		entities = pool_alloc(q->pool,
				      (set.n_entities + 1) * sizeof(*entities));
		r = entities ? 0 : -ENOMEM;
	}
	if (r == 0) {
		if (set.n_entities)
			memcpy(entities, set.entities,
			       set.n_entities * sizeof(*entities));
		*ret = set;
		ret->entities = entities;
	}
	free(set.entities);
	free(l.uses);
	map_release(&l.by_key);
	return r == -ENOMEM ? error_set(err, r, "out of memory") : r;
}
