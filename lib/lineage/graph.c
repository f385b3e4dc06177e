/* graph.c - see graph.h.  graph_new() is the table of contents: numbers first
 * (graph_index.c), then steps and their states, nodes, edges, artifacts. */
#include "lineage/graph_internal.h"

#include <string.h>

static const struct row *first_row(const struct graph *g, uint32_t job)
{
	return &g->rows[g->job_rows[job]];
}

static const struct row *end_row(const struct graph *g, uint32_t job)
{
	return &g->rows[g->job_rows[job + 1]];
}

/* Growing list of edges, kept in the order of `from`. */
struct edges {
	uint32_t *from;
	uint32_t *to;
	uint32_t n;
};

static int edges_init(struct graph *g, struct edges *e, size_t max)
{
	e->from = graph_array(g, max, sizeof(*e->from));
	e->to = graph_array(g, max, sizeof(*e->to));
	e->n = 0;
	return e->from && e->to ? 0 : -ENOMEM;
}

static void edges_add(struct edges *e, uint32_t from, uint32_t to)
{
	e->from[e->n] = from;
	e->to[e->n++] = to;
}

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Sorts a list and drops what comes twice; returns what is left. */
static uint32_t tidy(uint32_t *list, uint32_t n)
{
	uint32_t kept = 0;

	if (n > 1)
		qsort(list, n, sizeof(*list), ascending);
	for (uint32_t i = 0; i < n; i++)
		if (!kept || list[kept - 1] != list[i])
			list[kept++] = list[i];
	return kept;
}

/* ---- staleness, step by step ---- */

/* Did the job leave other content than it had read at this path? */
static bool is_changed_in_place(const struct graph *g, const struct row *row)
{
	uint32_t made = graph_written(g, row->path, row->job);

	return made != GRAPH_NONE && g->rows[made].content != GRAPH_NONE &&
	       g->rows[made].content != row->content;
}

/* Did another step write to this path since the job started, and leave other
 * content there, or undo what the job had changed? */
static bool is_outdated(const struct graph *g, const struct row *row)
{
	uint32_t last = graph_last_writer(g, row->path, g->job_step[row->job]);
	const struct row *now;

	if (last == GRAPH_NONE || row->content == GRAPH_NONE)
		return false;
	now = &g->rows[last];
	if (now->content == GRAPH_NONE ||
	    g->jobs[now->job].started_ns <= g->jobs[row->job].started_ns)
		return false;
	return now->content != row->content || is_changed_in_place(g, row);
}

/* Edges from producing to consuming steps, of latest executions. */
static int step_edges(struct graph *g, struct groups *ret)
{
	struct edges e;

	if (edges_init(g, &e, g->n_rows) < 0)
		return -ENOMEM;
	for (uint32_t s = 0; s < g->n_steps; s++) {
		uint32_t job = g->steps[s].latest;

		for (const struct row *row = first_row(g, job);
		     row < end_row(g, job); row++) {
			uint32_t made;

			if (!row->file->is_output &&
			    graph_producer(g, row, true, &made) != LINK_NONE)
				edges_add(&e, g->job_step[g->rows[made].job],
					  s);
		}
	}
	return graph_group(g, e.from, e.to, e.n, g->n_steps, ret);
}

/* Breadth first; a step enters the queue once, so cycles end. */
static int find_stale(struct graph *g)
{
	uint32_t *queue = graph_array(g, g->n_steps, sizeof(*queue));
	struct groups consumers;
	uint32_t n = 0;

	if (!queue || step_edges(g, &consumers) < 0)
		return -ENOMEM;
	for (uint32_t s = 0; s < g->n_steps; s++) {
		uint32_t job = g->steps[s].latest;

		for (const struct row *row = first_row(g, job);
		     row < end_row(g, job) && !g->steps[s].stale; row++) {
			if (row->file->is_output || !is_outdated(g, row))
				continue;
			g->steps[s].stale = true;
			g->steps[s].stale_path = row->file->path;
		}
		if (g->steps[s].stale)
			queue[n++] = s;
	}
	for (uint32_t at = 0; at < n; at++) {
		for (uint32_t i = consumers.start[queue[at]];
		     i < consumers.start[queue[at] + 1]; i++) {
			struct step *next = &g->steps[consumers.items[i]];

			if (!next->stale)
				queue[n++] = consumers.items[i];
			next->stale = true;
		}
	}
	return 0;
}

/* ---- nodes ---- */

/* The pairs a job wrote, sorted, each once; GRAPH_NONE in *ret_n when one of
 * them is not identified. */
static uint32_t *written_pairs(struct graph *g, uint32_t job, uint32_t *ret_n)
{
	uint32_t n = g->job_rows[job + 1] - g->job_rows[job];
	uint32_t *pairs = graph_array(g, n, sizeof(*pairs));
	bool known = true;

	n = 0;
	for (const struct row *row = first_row(g, job);
	     pairs && row < end_row(g, job); row++) {
		if (!row->file->is_output)
			continue;
		pairs[n++] = row->pair;
		known = known && row->content != GRAPH_NONE;
	}
	*ret_n = known && pairs ? tidy(pairs, n) : GRAPH_NONE;
	return pairs;
}

static int is_cached(struct graph *g, const struct step *step)
{
	uint32_t n_now;
	uint32_t n_then;
	uint32_t *now;
	uint32_t *then;

	if (step->previous == GRAPH_NONE)
		return 0;
	now = written_pairs(g, step->latest, &n_now);
	then = written_pairs(g, step->previous, &n_then);
	if (!now || !then)
		return -ENOMEM;
	return n_now == n_then && n_now && n_now != GRAPH_NONE &&
	       memcmp(now, then, n_now * sizeof(*now)) == 0;
}

static int set_node(struct graph *g, struct graph_node *node, uint32_t job)
{
	const struct step *step = &g->steps[g->job_step[job]];
	int cached = 0;

	node->job = job;
	node->attempt = g->job_attempt[job];
	for (const struct row *row = first_row(g, job); row < end_row(g, job);
	     row++) {
		node->n_outputs += row->file->is_output;
		node->n_inputs += !row->file->is_output && !row->file->is_moved;
	}
	if (step->latest == job)
		cached = is_cached(g, step);
	if (cached < 0)
		return cached;
	if (step->latest == job)
		node->stale_path = step->stale_path;
	if (step->latest != job)
		node->state = GRAPH_SUPERSEDED;
	else if (step->stale)
		node->state = GRAPH_STALE;
	else
		node->state = cached ? GRAPH_CACHED : GRAPH_ACTIVE;
	return 0;
}

static int make_nodes(struct graph *g)
{
	g->n_nodes = g->expanded ? g->n_jobs : g->n_steps;
	g->nodes = graph_array(g, g->n_nodes, sizeof(*g->nodes));
	if (!g->nodes)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		uint32_t job = g->expanded ? i : g->steps[i].latest;

		if (set_node(g, &g->nodes[i], job) < 0)
			return -ENOMEM;
	}
	return 0;
}

static uint32_t node_of_row(const struct graph *g, uint32_t row)
{
	uint32_t job = g->rows[row].job;

	return g->expanded ? job : g->job_step[job];
}

/* ---- dependencies and consumers, in one pass over what nodes read ---- */

static void connect_row(const struct graph *g, uint32_t node,
			const struct row *row, struct edges *deps,
			struct edges *uses)
{
	uint32_t made;
	uint32_t pair = row->pair;
	enum link link = graph_producer(g, row, true, &made);

	if (link != LINK_NONE)
		edges_add(deps, node, node_of_row(g, made));
	if (row->file->is_moved)
		return;
	if (link == LINK_CONTENT)
		pair = g->rows[made].pair;
	edges_add(uses, pair, node);
}

static int connect(struct graph *g, struct groups *ret_uses)
{
	struct edges deps;
	struct edges uses;
	struct groups lists;

	if (edges_init(g, &deps, g->n_rows) < 0 ||
	    edges_init(g, &uses, g->n_rows) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		uint32_t job = g->nodes[i].job;

		for (const struct row *row = first_row(g, job);
		     row < end_row(g, job); row++)
			if (!row->file->is_output)
				connect_row(g, i, row, &deps, &uses);
	}
	if (graph_group(g, deps.from, deps.to, deps.n, g->n_nodes, &lists) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		uint32_t *list = &lists.items[lists.start[i]];

		g->nodes[i].n_deps = tidy(list,
					  lists.start[i + 1] - lists.start[i]);
		g->nodes[i].deps = list;
	}
	return graph_group(g, uses.from, uses.to, uses.n, g->n_pairs, ret_uses);
}

/* ---- artifacts ---- */

/* The last output row of a pair, or GRAPH_NONE when it came from outside. */
static uint32_t maker_of(const struct graph *g, uint32_t pair)
{
	uint32_t end = g->by_pair.start[pair + 1];

	return end > g->by_pair.start[pair] ? g->by_pair.items[end - 1] :
					      GRAPH_NONE;
}

static enum graph_state artifact_state(const struct graph *g, uint32_t maker,
				       int64_t *ret_superseded_by)
{
	const struct row *row = &g->rows[maker];
	const struct step *step = &g->steps[g->job_step[row->job]];
	uint32_t last = graph_last_writer(g, row->path, GRAPH_NONE);
	const struct row *now = &g->rows[last];

	if (now->job > row->job && now->pair != row->pair) {
		*ret_superseded_by = now->file->artifact;
		return GRAPH_SUPERSEDED;
	}
	if (step->latest != row->job)
		return GRAPH_ORPHANED;
	return step->stale ? GRAPH_STALE : GRAPH_ACTIVE;
}

/* A step is not a consumer of its own output: a step that continues from its earlier
 * output reads from itself. */
static uint32_t without(uint32_t *list, uint32_t n, uint32_t node)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (list[i] != node)
			list[kept++] = list[i];
	return kept;
}

static void set_artifact(struct graph *g, struct graph_artifact *a,
			 uint32_t pair, struct groups *uses)
{
	const struct row *row = &g->rows[g->pair_row[pair]];
	uint32_t *list = &uses->items[uses->start[pair]];
	uint32_t n = uses->start[pair + 1] - uses->start[pair];
	uint32_t maker = maker_of(g, pair);

	a->path = row->file->path;
	a->artifact = row->file->artifact;
	a->size = row->file->size;
	a->producer = GRAPH_NONE;
	n = tidy(list, n);
	if (maker != GRAPH_NONE) {
		a->producer = node_of_row(g, maker);
		a->state = artifact_state(g, maker, &a->superseded_by);
		n = without(list, n, a->producer);
		a->is_terminal = !n && (a->state == GRAPH_ACTIVE ||
					a->state == GRAPH_STALE);
		if (n && g->rows[maker].job == g->nodes[a->producer].job)
			g->nodes[a->producer].n_consumed++;
	}
	a->consumers = list;
	a->n_consumers = n;
}

static int make_artifacts(struct graph *g, struct groups *uses)
{
	g->artifacts = graph_array(g, g->n_pairs, sizeof(*g->artifacts));
	if (!g->artifacts)
		return -ENOMEM;
	for (uint32_t pair = 0; pair < g->n_pairs; pair++) {
		bool used = uses->start[pair + 1] > uses->start[pair];

		/* What only superseded executions read is left out. */
		if (!used && maker_of(g, pair) == GRAPH_NONE)
			continue;
		set_artifact(g, &g->artifacts[g->n_artifacts++], pair, uses);
	}
	return 0;
}

/* ---- life cycle ---- */

int graph_new(const struct graph_job *jobs, size_t n_jobs,
	      const struct graph_file *files, size_t n_files, bool expanded,
	      struct graph **ret_graph)
{
	CLEANUP(graph_freep) struct graph *g = NULL;
	struct groups uses;

	if (n_jobs > INT32_MAX || n_files > INT32_MAX)
		return -EOVERFLOW;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->jobs = jobs;
	g->n_jobs = (uint32_t)n_jobs;
	g->expanded = expanded;
	if (graph_index(g, files, n_files) < 0 || find_stale(g) < 0 ||
	    make_nodes(g) < 0 || connect(g, &uses) < 0 ||
	    make_artifacts(g, &uses) < 0)
		return -ENOMEM;
	*ret_graph = TAKE_PTR(g);
	return 0;
}

void graph_free(struct graph *graph)
{
	if (!graph)
		return;
	pool_release(&graph->pool);
	free(graph);
}

const struct graph_node *graph_nodes(const struct graph *graph, size_t *ret_n)
{
	*ret_n = graph->n_nodes;
	return graph->nodes;
}

const struct graph_artifact *graph_artifacts(const struct graph *graph,
					     size_t *ret_n)
{
	*ret_n = graph->n_artifacts;
	return graph->artifacts;
}

const char *graph_state_name(enum graph_state state)
{
	static const char *const names[] = {
		[GRAPH_ACTIVE] = "active",
		[GRAPH_CACHED] = "cached",
		[GRAPH_STALE] = "stale",
		[GRAPH_SUPERSEDED] = "superseded",
		[GRAPH_ORPHANED] = "orphaned",
	};

	return (unsigned)state < GRAPH_STATE_END ? names[state] : "unknown";
}
