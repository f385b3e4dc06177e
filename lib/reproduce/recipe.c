/* recipe.c - see recipe.h
 *
 *	list the jobs: from the last one back, and the build steps of its sessions
 *	put them in order
 *	find their code, their packages, and the inputs that none of them makes */
#include "reproduce/recipe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/pool.h"
#include "base/vec.h"
#include "event/event.h"
#include "lineage/fold.h"
#include "query/producer.h"
#include "query/query.h"
#include "reproduce/recipe_place.h"
#include "store/store.h"
#include "store/store_situation.h"

struct work {
	struct query *q;
	struct recipe_step *steps; /* as they are met */
	size_t n, cap;
	struct map by_id; /* job id -> number of its step + 1 */
	struct recipe_input *inputs;
	size_t n_inputs, cap_inputs;
};

bool recipe_is_transfer(const struct store_job *job)
{
	return strcmp(job->tracer, "transfer") == 0;
}

static bool is_build(const struct store_job *job)
{
	return strcmp(job->kind, "build") == 0;
}

bool recipe_changes_unread(const struct recipe_step *step,
			   const struct store_file *output)
{
	const uint32_t whole = LINEAGE_FRESH | LINEAGE_CREATED |
			       LINEAGE_TRUNCATED | LINEAGE_RENAMED_TO |
			       LINEAGE_LINKED_TO;

	if (output->role != LINEAGE_OUTPUT || output->seen & whole ||
	    output->ftype != EVENT_FTYPE_REGULAR)
		return false;
	for (size_t i = 0; i < step->n_files; i++)
		if (step->files[i].role == LINEAGE_INPUT &&
		    !strcmp(step->files[i].path, output->path))
			return false;
	return true;
}

const char *recipe_source_word(enum recipe_source source)
{
	static const char *const words[RECIPE_SOURCE_END] = {
		[RECIPE_MISSING] = "missing", [RECIPE_CODE] = "code",
		[RECIPE_DISK] = "disk",	      [RECIPE_KEPT] = "kept",
		[RECIPE_FETCH] = "fetch",     [RECIPE_IN_PLACE] = "in place",
		[RECIPE_REMOTE] = "remote",
	};

	return words[source];
}

/* ---- the jobs ---- */

/* The index of the job's step, which is added when it is new. */
static int add_step(struct work *w, const struct store_job *job, size_t *ret)
{
	uintptr_t number = (uintptr_t)map_get(&w->by_id, &job->id,
					      sizeof(job->id));
	struct recipe_step *step;

	if (number) {
		*ret = number - 1;
		return 0;
	}
	step = VEC_PUSH(w->steps, w->n, w->cap);
	if (!step)
		return -ENOMEM;
	step->job = job;
	*ret = w->n - 1;
	return map_set(&w->by_id, &job->id, sizeof(job->id),
		       (void *)(uintptr_t)w->n);
}

static int add_dependency(struct work *w, size_t step, size_t on)
{
	struct recipe_step *s = &w->steps[step];
	size_t *slot;

	if (step == on)
		return 0;
	for (size_t i = 0; i < s->n_after; i++)
		if (s->after[i] == on)
			return 0;
	slot = VEC_PUSH(s->after, s->n_after, s->cap_after);
	if (!slot)
		return -ENOMEM;
	*slot = on;
	return 0;
}

/* Directories, sockets and devices have no content to put somewhere. */
static bool has_content(const struct store_file *row)
{
	return row->ftype == EVENT_FTYPE_REGULAR ||
	       row->ftype == EVENT_FTYPE_SYMLINK ||
	       row->ftype == EVENT_FTYPE_OBJECT;
}

static int add_input(struct work *w, size_t step, const struct store_file *row)
{
	struct recipe_input *input = VEC_PUSH(w->inputs, w->n_inputs,
					      w->cap_inputs);

	if (!input)
		return -ENOMEM;
	input->row = row;
	input->step = step;
	return 0;
}

/* What a step needs is made by another step, or comes from outside. */
static int follow(struct work *w, size_t step, const struct store_file *row,
		  struct roar_error *err)
{
	const struct store_job *maker;
	size_t on;
	int r = producer_find(w->q, row, &maker, err);

	if (r < 0)
		return r;
	if (!maker || recipe_is_transfer(maker))
		return has_content(row) ? add_input(w, step, row) : 0;
	r = add_step(w, maker, &on);
	return r < 0 ? r : add_dependency(w, step, on);
}

static int follow_moved(struct work *w, size_t step,
			const struct store_file *row, struct roar_error *err)
{
	struct store_file *old = pool_alloc(w->q->pool, sizeof(*old));

	if (!old)
		return -ENOMEM;
	*old = *row;
	old->path = row->origin;
	return follow(w, step, old, err);
}

static int visit(struct work *w, size_t at, struct roar_error *err)
{
	struct store_file *files;
	size_t n;
	int r = store_files(w->q->store, w->q->pool, w->steps[at].job->id,
			    false, &files, &n, err);

	if (r < 0)
		return r;
	w->steps[at].files = files;
	w->steps[at].n_files = n;
	for (size_t i = 0; i < n && r >= 0; i++) {
		if (files[i].role == LINEAGE_INPUT)
			r = follow(w, at, &files[i], err);
		else if (files[i].role == LINEAGE_OUTPUT &&
			 producer_is_moved(&files[i]))
			r = follow_moved(w, at, &files[i], err);
	}
	return r;
}

static int visit_from(struct work *w, size_t first, struct roar_error *err)
{
	int r = 0;

	for (size_t i = first; i < w->n && r >= 0; i++)
		r = visit(w, i, err);
	return r;
}

/* The newest execution of each build step of the session from before `end_ns`. */
static int add_builds(struct work *w, int64_t session_id, int64_t end_ns,
		      struct roar_error *err)
{
	const struct store_job_query query = { .session_id = session_id,
					       .kind = "build" };
	struct store_job *jobs;
	size_t n;
	size_t at;
	int r = store_jobs(w->q->store, w->q->pool, &query, &jobs, &n, err);

	for (size_t i = 0; i < n && r >= 0; i++) {
		bool newest = jobs[i].started_ns < end_ns;

		for (size_t k = i + 1; k < n && newest; k++)
			newest = jobs[k].step != jobs[i].step ||
				 jobs[k].started_ns >= end_ns;
		if (newest && !recipe_is_transfer(&jobs[i]))
			r = add_step(w, &jobs[i], &at);
	}
	return r;
}

/* A session is asked once, by the latest of its steps. */
static int add_all_builds(struct work *w, struct roar_error *err)
{
	size_t n = w->n;
	int r = 0;

	for (size_t i = 0; i < n && r >= 0; i++) {
		const struct store_job *job = w->steps[i].job;
		bool last = true;

		for (size_t k = 0; k < n && last; k++) {
			const struct store_job *other = w->steps[k].job;

			last = other->session_id != job->session_id ||
			       other->started_ns < job->started_ns ||
			       (other->started_ns == job->started_ns && k >= i);
		}
		if (last)
			r = add_builds(w, job->session_id, job->started_ns,
				       err);
	}
	return r < 0 ? r : visit_from(w, n, err);
}

/* ---- the order ---- */

static int by_time(const void *a, const void *b, void *steps)
{
	const struct store_job
		*x = ((struct recipe_step *)steps)[*(const size_t *)a].job;
	const struct store_job
		*y = ((struct recipe_step *)steps)[*(const size_t *)b].job;

	if (is_build(x) != is_build(y))
		return is_build(x) ? -1 : 1;
	if (x->started_ns != y->started_ns)
		return x->started_ns < y->started_ns ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* A depth-first walk without recursion: a chain may be long. */
struct order {
	const struct work *w;
	size_t *sorted; /* steps by time */
	size_t *stack; /* steps that wait for what they depend on */
	size_t *next; /* per step: the dependency to look at next */
	char *state; /* per step: 0 new, 1 on the stack, 2 done */
	size_t *done; /* the result */
	size_t n_done;
};

static int order_from(struct order *o, size_t first, struct roar_error *err)
{
	size_t n = 1;

	o->stack[0] = first;
	o->state[first] = 1;
	while (n) {
		size_t at = o->stack[n - 1];
		const struct recipe_step *step = &o->w->steps[at];

		if (o->next[at] == step->n_after) {
			o->state[at] = 2;
			o->done[o->n_done++] = at;
			n--;
			continue;
		}
		at = step->after[o->next[at]++];
		if (o->state[at] == 1)
			return error_set(err, -ELOOP,
					 "job %s depends on itself by way of "
					 "job %s: this record has no order in "
					 "which its jobs could run",
					 o->w->steps[at].job->uid,
					 step->job->uid);
		if (o->state[at] == 2)
			continue;
		o->state[at] = 1;
		o->stack[n++] = at;
	}
	return 0;
}

static int find_order(const struct work *w, size_t **ret,
		      struct roar_error *err)
{
	struct pool *pool = w->q->pool;
	struct order o = {
		.w = w,
		.sorted = pool_zalloc(pool, (w->n + 1) * sizeof(size_t)),
		.stack = pool_zalloc(pool, (w->n + 1) * sizeof(size_t)),
		.next = pool_zalloc(pool, (w->n + 1) * sizeof(size_t)),
		.state = pool_zalloc(pool, w->n + 1),
		.done = pool_zalloc(pool, (w->n + 1) * sizeof(size_t)),
	};
	int r = 0;

	if (!o.sorted || !o.stack || !o.next || !o.state || !o.done)
		return -ENOMEM;
	for (size_t i = 0; i < w->n; i++)
		o.sorted[i] = i;
	qsort_r(o.sorted, w->n, sizeof(*o.sorted), by_time, w->steps);
	for (size_t i = 0; i < w->n && r == 0; i++)
		if (!o.state[o.sorted[i]])
			r = order_from(&o, o.sorted[i], err);
	*ret = o.done;
	return r;
}

static int compare_content(const struct recipe_input *x,
			   const struct recipe_input *y)
{
	if (x->row->artifact_id != y->row->artifact_id)
		return x->row->artifact_id < y->row->artifact_id ? -1 : 1;
	return strcmp(x->row->path, y->row->path);
}

static int by_content(const void *a, const void *b)
{
	const struct recipe_input *x = a;
	const struct recipe_input *y = b;
	int r = compare_content(x, y);

	return r ? r : (x->step > y->step) - (x->step < y->step);
}

static int by_step(const void *a, const void *b)
{
	const struct recipe_input *x = a;
	const struct recipe_input *y = b;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return strcmp(x->row->path, y->row->path);
}

/* Moves steps and inputs into the recipe, with the new numbers. */
static int put_in_order(struct work *w, struct recipe *ret,
			struct roar_error *err)
{
	struct pool *pool = w->q->pool;
	size_t *number = pool_alloc(pool, (w->n + 1) * sizeof(*number));
	size_t *order = NULL;
	int r = find_order(w, &order, err);

	ret->steps = pool_alloc(pool, (w->n + 1) * sizeof(*ret->steps));
	ret->inputs = pool_alloc(pool,
				 (w->n_inputs + 1) * sizeof(*ret->inputs));
	if (r < 0)
		return r;
	if (!number || !ret->steps || !ret->inputs)
		return -ENOMEM;
	for (size_t i = 0; i < w->n; i++)
		number[order[i]] = i;
	for (size_t i = 0; i < w->n; i++) {
		struct recipe_step *step = &ret->steps[i];

		*step = w->steps[order[i]];
		step->after = pool_alloc(pool, (step->n_after + 1) *
						       sizeof(*step->after));
		if (!step->after)
			return -ENOMEM;
		for (size_t k = 0; k < step->n_after; k++)
			step->after[k] = number[w->steps[order[i]].after[k]];
		ret->n_builds += is_build(step->job);
	}
	ret->n_steps = w->n;
	for (size_t i = 0; i < w->n_inputs; i++)
		w->inputs[i].step = number[w->inputs[i].step];
	if (w->n_inputs)
		qsort(w->inputs, w->n_inputs, sizeof(*w->inputs), by_content);
	for (size_t i = 0; i < w->n_inputs; i++)
		if (!i || compare_content(&w->inputs[i - 1], &w->inputs[i]))
			ret->inputs[ret->n_inputs++] = w->inputs[i];
	qsort(ret->inputs, ret->n_inputs, sizeof(*ret->inputs), by_step);
	return 0;
}

/* ---- places, packages, inputs ---- */

static int find_roots(struct recipe *r, struct query *q,
		      const struct recipe_options *options)
{
	const char **dirs = pool_alloc(q->pool,
				       (r->n_steps + 1) * sizeof(*dirs));
	size_t n = 0;
	bool here = false;

	if (!dirs)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_steps; i++) {
		const struct store_job *job = r->steps[i].job;

		dirs[n++] = *job->git_root ? job->git_root : job->cwd;
		here |= options->project &&
			path_is_under(dirs[n - 1], options->project);
	}
	if (here)
		dirs[n++] = options->project;
	return recipe_roots_find(q->pool, dirs, n, &r->roots);
}

static int find_places(struct recipe *r, struct query *q)
{
	int e = 0;

	for (size_t i = 0; i < r->n_steps && e == 0; i++)
		e = recipe_place(&r->roots, q->pool, r->steps[i].job->cwd,
				 &r->steps[i].place);
	for (size_t i = 0; i < r->n_inputs && e == 0; i++)
		e = recipe_place(&r->roots, q->pool, r->inputs[i].row->path,
				 &r->inputs[i].place);
	return e;
}

static int find_needs(struct recipe *r, struct query *q, struct roar_error *err)
{
	struct requirements *lists = pool_zalloc(
		q->pool, (r->n_steps + 1) * sizeof(*lists));
	int e = lists ? 0 : -ENOMEM;

	for (size_t i = 0; i < r->n_steps && e == 0; i++) {
		const struct store_job *job = r->steps[i].job;
		const char *packages = NULL;
		const char *libraries = NULL;

		e = store_situation(q->store, q->pool, job->id,
				    SITUATION_PACKAGES, &packages, err);
		if (e == 0)
			e = store_situation(q->store, q->pool, job->id,
					    SITUATION_LIBRARIES, &libraries,
					    err);
		if (e == 0)
			e = requirements_read(q->pool, packages, libraries,
					      &r->steps[i].needs);
		if (e == -EBADMSG)
			return error_set(err, e,
					 "the packages of job %s cannot be "
					 "read from the record",
					 job->uid);
		lists[i] = r->steps[i].needs;
	}
	return e < 0 ? e :
		       requirements_join(q->pool, lists, r->n_steps, &r->needs);
}

static int find_inputs(struct recipe *r, struct query *q,
		       const struct recipe_options *options,
		       struct roar_error *err)
{
	int e = 0;

	for (size_t i = 0; i < r->n_inputs && e == 0; i++) {
		e = recipe_input_find(r, q, options, &r->inputs[i], err);
		r->n_missing += r->inputs[i].source == RECIPE_MISSING;
	}
	return e;
}

static void work_release(struct work *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->steps[i].after);
	free(w->steps);
	free(w->inputs);
	map_release(&w->by_id);
}

int recipe_make(struct query *q, const struct store_job *job,
		const struct recipe_options *options, struct recipe *ret,
		struct roar_error *err)
{
	CLEANUP(work_release) struct work w = { .q = q };
	size_t first;
	int r = add_step(&w, job, &first);

	*ret = (struct recipe){ 0 };
	if (r == 0)
		r = visit_from(&w, 0, err);
	if (r >= 0)
		r = add_all_builds(&w, err);
	if (r >= 0)
		r = put_in_order(&w, ret, err);
	if (r >= 0)
		r = find_roots(ret, q, options);
	if (r >= 0)
		r = find_places(ret, q);
	if (r >= 0)
		r = recipe_code_find(ret, q, options);
	if (r >= 0)
		r = find_needs(ret, q, err);
	if (r >= 0)
		r = find_inputs(ret, q, options, err);
	return r < 0 ? r : 0;
}

void recipe_release(struct recipe *r)
{
	for (size_t i = 0; i < r->n_codes; i++)
		map_release(&r->codes[i]->files);
}
