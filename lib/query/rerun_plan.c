/* rerun_plan.c - see rerun_plan.h */
#include "query/rerun_plan.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/pool.h"
#include "event/event.h"
#include "lineage/fold.h"
#include "query/pipeline.h"
#include "query/producer.h"
#include "store/store.h"

struct planning {
	const struct pipeline *p;
	const struct rerun_wish *wish;
	struct pool *pool;
	struct rerun_plan *plan;
	struct outdated_steps outdated;
	const uint32_t *order;
	bool *chosen; /* by node, like the rest */
	bool *forced;
	enum rerun_reason *reasons;
	const char **paths;
	uint32_t *lost; /* first missing output, an artifact; GRAPH_NONE */
	uint32_t *next_lost; /* by artifact */
	uint32_t *step_of; /* index in the plan */
};

/* ---- the rows of each step ---- */

/* Rows are in the order of their jobs. */
static int group_rows(struct planning *w)
{
	CLEANUP(map_release) struct map nodes = MAP_INIT;
	const struct pipeline *p = w->p;
	const struct store_file **first = pool_zalloc(
		w->pool, (p->n_nodes + 1) * sizeof(*first));
	size_t *n = pool_zalloc(w->pool, (p->n_nodes + 1) * sizeof(*n));

	if (!first || !n)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_nodes; i++) {
		const int64_t *id = &pipeline_outline(p, i)->id;

		if (map_set(&nodes, id, sizeof(*id), &n[i]) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < p->n_files; i++) {
		const struct store_file *row = &p->files[i];
		size_t *count = map_get(&nodes, &row->job_id,
					sizeof(row->job_id));

		if (count && !(*count)++)
			first[count - n] = row;
	}
	w->plan->rows = first;
	w->plan->n_rows = n;
	return 0;
}

/* ---- which steps are looked at ---- */

/* Marks the nodes that the marked ones depend on. */
static void mark_upstream(struct planning *w)
{
	for (bool more = true; more;) {
		more = false;
		for (size_t i = w->p->n_nodes; i-- > 0;) {
			const struct graph_node *n = &w->p->nodes[w->order[i]];

			for (uint32_t k = 0;
			     w->chosen[w->order[i]] && k < n->n_deps; k++) {
				more |= !w->chosen[n->deps[k]];
				w->chosen[n->deps[k]] = true;
			}
		}
	}
}

static void mark_downstream(struct planning *w)
{
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < w->p->n_nodes; i++) {
			uint32_t at = w->order[i];
			const struct graph_node *n = &w->p->nodes[at];

			for (uint32_t k = 0; !w->chosen[at] && k < n->n_deps;
			     k++)
				w->chosen[at] = w->chosen[n->deps[k]];
			more |= w->chosen[at] && !w->forced[at];
			w->forced[at] |= w->chosen[at];
		}
	}
}

static void choose(struct planning *w)
{
	const struct rerun_wish *wish = w->wish;

	for (size_t i = 0; !wish->nodes && i < w->p->n_nodes; i++)
		w->chosen[i] = w->forced[i] = true;
	for (size_t i = 0; wish->nodes && i < wish->n; i++)
		w->chosen[wish->nodes[i]] = w->forced[wish->nodes[i]] = true;
	if (wish->downstream)
		mark_downstream(w);
	mark_upstream(w);
}

/* ---- reasons ---- */

static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

static void find_lost(struct planning *w)
{
	const struct pipeline *p = w->p;

	for (size_t i = 0; i < p->n_nodes; i++)
		w->lost[i] = GRAPH_NONE;
	for (size_t i = 0; i < p->n_artifacts; i++) {
		const struct graph_artifact *a = &p->artifacts[i];
		const struct store_file *row;

		if (a->producer == GRAPH_NONE || !w->chosen[a->producer] ||
		    (a->state != GRAPH_ACTIVE && a->state != GRAPH_STALE))
			continue;
		row = pipeline_written(p, a);
		if (!row || row->ftype == EVENT_FTYPE_OBJECT ||
		    exists(a->path) || pipeline_moved_away(p, row))
			continue;
		w->next_lost[i] = w->lost[a->producer];
		w->lost[a->producer] = (uint32_t)i;
	}
}

static void give_reason(struct planning *w, uint32_t node,
			enum rerun_reason reason, const char *path)
{
	w->reasons[node] = reason;
	w->paths[node] = path;
}

/* The reason that a step has by itself. */
static void find_reason(struct planning *w, uint32_t node)
{
	const struct pipeline *p = w->p;
	const struct store_job *job = pipeline_job(p, node);
	const struct outdated_step *o = &w->outdated.nodes[node];

	if (o->input && o->missing)
		give_reason(w, node, RERUN_GONE, o->input->path);
	else if (p->nodes[node].stale_path)
		give_reason(w, node, RERUN_STALE, p->nodes[node].stale_path);
	else if (o->input)
		give_reason(w, node, RERUN_OUTDATED, o->input->path);
	else if (job->exit_code || job->status != STORE_DONE)
		give_reason(w, node, RERUN_FAILED, NULL);
	for (uint32_t i = w->lost[node]; i != GRAPH_NONE; i = w->next_lost[i])
		if (!w->reasons[node] && p->artifacts[i].is_terminal)
			give_reason(w, node, RERUN_LOST, p->artifacts[i].path);
	if (!w->reasons[node] && w->wish->force && w->forced[node])
		give_reason(w, node, RERUN_FORCED, NULL);
}

/* A missing output that a step of the plan reads. */
static const char *find_needed(const struct planning *w, uint32_t node)
{
	for (uint32_t i = w->lost[node]; i != GRAPH_NONE; i = w->next_lost[i]) {
		const struct graph_artifact *a = &w->p->artifacts[i];

		for (uint32_t k = 0; k < a->n_consumers; k++)
			if (a->consumers[k] != node &&
			    w->reasons[a->consumers[k]])
				return a->path;
	}
	return NULL;
}

static bool has_planned_dep(const struct planning *w, uint32_t node)
{
	const struct graph_node *n = &w->p->nodes[node];

	for (uint32_t k = 0; k < n->n_deps; k++)
		if (w->reasons[n->deps[k]])
			return true;
	return false;
}

/* What the reasons of some steps mean for the others, until nothing is added. */
static void spread_reasons(struct planning *w)
{
	for (bool more = true; more;) {
		more = false;
		for (size_t i = w->p->n_nodes; i-- > 0;) {
			uint32_t at = w->order[i];
			const char *path = w->chosen[at] && !w->reasons[at] ?
						   find_needed(w, at) :
						   NULL;

			if (path)
				give_reason(w, at, RERUN_NEEDED, path);
		}
		for (size_t i = 0; i < w->p->n_nodes; i++) {
			uint32_t at = w->order[i];

			if (!w->chosen[at] || w->reasons[at] ||
			    !has_planned_dep(w, at))
				continue;
			give_reason(w, at, RERUN_UPSTREAM, NULL);
			more = true;
		}
	}
}

/* ---- which steps wait for which ---- */

struct reader {
	struct reader *next;
	uint32_t step;
};

/* Who uses a path, as far as the steps were visited. */
struct use {
	uint32_t writer; /* the last; GRAPH_NONE */
	struct reader *readers; /* since then */
};

struct waits {
	struct planning *w;
	struct map uses; /* path -> struct use */
	uint32_t step; /* the one being visited */
	uint32_t *after; /* room for all steps before it */
	size_t n_after;
	uint32_t *seen; /* by step: 1 + the last one that waits for it */
};

static void wait_for(struct waits *s, uint32_t step)
{
	if (step == GRAPH_NONE || step >= s->step ||
	    s->seen[step] == s->step + 1)
		return;
	s->seen[step] = s->step + 1;
	s->after[s->n_after++] = step;
}

static int use_path(struct waits *s, const char *path, bool writes)
{
	size_t len = strlen(path);
	struct use *use = map_get(&s->uses, path, len);
	struct reader *reader;

	if (!use) {
		use = pool_zalloc(s->w->pool, sizeof(*use));
		if (!use || map_set(&s->uses, path, len, use) < 0)
			return -ENOMEM;
		use->writer = GRAPH_NONE;
	}
	wait_for(s, use->writer);
	if (writes) {
		for (; use->readers; use->readers = use->readers->next)
			wait_for(s, use->readers->step);
		use->writer = s->step;
		return 0;
	}
	if (use->readers && use->readers->step == s->step)
		return 0;
	reader = pool_alloc(s->w->pool, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	*reader = (struct reader){ use->readers, s->step };
	use->readers = reader;
	return 0;
}

static int find_waits(struct waits *s, struct rerun_step *step)
{
	const struct planning *w = s->w;
	const struct graph_node *n = &w->p->nodes[step->node];
	const struct store_file *rows = w->plan->rows[step->node];
	int r = 0;

	s->n_after = 0;
	for (uint32_t k = 0; k < n->n_deps; k++) {
		uint32_t dep = w->step_of[n->deps[k]];

		step->in_cycle |= dep != GRAPH_NONE && dep > s->step;
		wait_for(s, dep);
	}
	for (size_t i = 0; r == 0 && i < w->plan->n_rows[step->node]; i++) {
		r = use_path(s, rows[i].path, rows[i].role & LINEAGE_OUTPUT);
		if (r == 0 && producer_is_moved(&rows[i]))
			r = use_path(s, rows[i].origin, true);
	}
	step->after = (uint32_t *)pool_dup(w->pool, s->after,
					   s->n_after * sizeof(*s->after));
	step->n_after = s->n_after;
	return r == 0 && step->after ? 0 : -ENOMEM;
}

static int list_steps(struct planning *w)
{
	struct waits s = { .w = w };
	struct rerun_plan *plan = w->plan;
	size_t n = w->p->n_nodes;
	int r = 0;

	plan->steps = pool_zalloc(w->pool, (n + 1) * sizeof(*plan->steps));
	s.after = pool_alloc(w->pool, (n + 1) * sizeof(*s.after));
	s.seen = pool_zalloc(w->pool, (n + 1) * sizeof(*s.seen));
	if (!plan->steps || !s.after || !s.seen)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint32_t at = w->order[i];

		w->step_of[at] = GRAPH_NONE;
		plan->n_up_to_date += w->chosen[at] && !w->reasons[at];
		if (!w->reasons[at])
			continue;
		w->step_of[at] = (uint32_t)plan->n;
		plan->steps[plan->n++] = (struct rerun_step){
			.node = at,
			.reason = w->reasons[at],
			.path = w->paths[at],
		};
	}
	for (; r == 0 && s.step < plan->n; s.step++)
		r = find_waits(&s, &plan->steps[s.step]);
	map_release(&s.uses);
	return r;
}

/* ---- all of it ---- */

static int prepare(struct planning *w, struct presence_look *look)
{
	size_t n = w->p->n_nodes + 1;
	size_t n_artifacts = w->p->n_artifacts + 1;
	uint32_t *order;
	int r = rerun_order(w->p, w->pool, &order);

	w->order = order;
	w->chosen = pool_zalloc(w->pool, n * sizeof(*w->chosen));
	w->forced = pool_zalloc(w->pool, n * sizeof(*w->forced));
	w->reasons = pool_zalloc(w->pool, n * sizeof(*w->reasons));
	w->paths = pool_zalloc(w->pool, n * sizeof(*w->paths));
	w->lost = pool_alloc(w->pool, n * sizeof(*w->lost));
	w->step_of = pool_alloc(w->pool, n * sizeof(*w->step_of));
	w->next_lost = pool_alloc(w->pool, n_artifacts * sizeof(*w->next_lost));
	if (r < 0 || !w->chosen || !w->forced || !w->reasons || !w->paths ||
	    !w->lost || !w->step_of || !w->next_lost)
		return -ENOMEM;
	r = group_rows(w);
	if (r < 0)
		return r;
	return outdated_steps_find(w->p, look, w->pool, &w->outdated);
}

int rerun_plan_make(const struct pipeline *p, const struct rerun_wish *wish,
		    struct presence_look *look, struct pool *pool,
		    struct rerun_plan *ret)
{
	struct planning w = { .p = p, .wish = wish, .pool = pool, .plan = ret };
	int r;

	*ret = (struct rerun_plan){ .pipeline = p };
	r = prepare(&w, look);
	if (r < 0)
		return r;
	choose(&w);
	find_lost(&w);
	for (uint32_t i = 0; i < p->n_nodes; i++)
		if (w.chosen[i])
			find_reason(&w, i);
	spread_reasons(&w);
	return list_steps(&w);
}

/* ---- at its turn ---- */

/* Is what the step read, or renamed, not there any more? */
static bool differs(const struct pipeline *p, const struct store_file *row,
		    bool ran, struct presence_look *look, bool *ret_gone)
{
	const struct store_file *left = map_get(&p->written, row->path,
						strlen(row->path));
	struct store_file moved;
	bool own = left && left->job_id == row->job_id;
	enum presence there;

	*ret_gone = false;
	if (producer_is_moved(row)) {
		moved = *row;
		moved.path = row->origin;
		return presence_check(look, &moved) == PRESENCE_CHANGED;
	}
	if (!(row->role & LINEAGE_INPUT))
		return false;
	if (!row->artifact_id)
		return ran && row->ftype == EVENT_FTYPE_REGULAR;
	/* A file that it changed in place is to be as the step left it. */
	there = presence_check(look, own ? left : row);
	*ret_gone = there == PRESENCE_MISSING && !left &&
		    !(row->seen & (LINEAGE_REMOVED | LINEAGE_MOVED_AWAY)) &&
		    !pipeline_moved_away(p, row);
	return there == PRESENCE_CHANGED || *ret_gone ||
	       (there == PRESENCE_MISSING && !own && ran) ||
	       (there == PRESENCE_REMOTE && ran);
}

enum rerun_reason rerun_plan_check(const struct rerun_plan *plan, size_t step,
				   bool ran, struct presence_look *look,
				   const char **ret_path)
{
	const struct rerun_step *s = &plan->steps[step];
	const struct store_file *rows = plan->rows[s->node];
	const struct store_file *changed = NULL;
	bool gone;

	*ret_path = s->path;
	for (size_t i = 0; i < plan->n_rows[s->node]; i++) {
		bool new = differs(plan->pipeline, &rows[i], ran, look, &gone);

		if (!new)
			continue;
		changed = changed ? changed : &rows[i];
		if (!gone)
			continue;
		*ret_path = rows[i].path;
		return RERUN_GONE;
	}
	if (s->reason == RERUN_UPSTREAM ||
	    (ran && (s->reason == RERUN_STALE || s->reason == RERUN_OUTDATED))) {
		*ret_path = changed ? changed->path : NULL;
		return changed ? RERUN_STALE : RERUN_UP_TO_DATE;
	}
	/* It is there again. */
	return s->reason == RERUN_GONE ? RERUN_OUTDATED : s->reason;
}

const char *rerun_reason_name(enum rerun_reason reason)
{
	static const char *const names[RERUN_REASON_END] = {
		[RERUN_UP_TO_DATE] = "up-to-date",
		[RERUN_FORCED] = "forced",
		[RERUN_FAILED] = "failed",
		[RERUN_STALE] = "stale",
		[RERUN_OUTDATED] = "outdated",
		[RERUN_GONE] = "missing-input",
		[RERUN_LOST] = "missing-output",
		[RERUN_NEEDED] = "needed-output",
		[RERUN_UPSTREAM] = "upstream",
	};

	return names[reason];
}
