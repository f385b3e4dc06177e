/* graph_internal.h - numbers instead of names.
 *
 * Everything gets a dense number: jobs, steps, rows (files of known jobs, in the order
 * of their jobs), paths, contents and (path, content) pairs.  A group lists the output
 * rows of one such number in the order of their jobs.  So a question of the graph
 * ("which job wrote this content last before job J?") is a binary search in one group. */
#ifndef ROAR_LINEAGE_GRAPH_INTERNAL_H
#define ROAR_LINEAGE_GRAPH_INTERNAL_H

#include "base/map.h"
#include "base/pool.h"
#include "lineage/graph.h"

struct row {
	const struct graph_file *file;
	uint32_t job;
	uint32_t path; /* number of the path */
	uint32_t content; /* number of the artifact; GRAPH_NONE unidentified */
	uint32_t pair; /* number of (path, content) */
};

/* Members of group g are items[start[g]] to items[start[g + 1] - 1]. */
struct groups {
	uint32_t n;
	uint32_t *start;
	uint32_t *items;
	/* Per item: 1 + the index of the last item before it, in the same group, that
	 * belongs to another step; 0: none. */
	uint32_t *other;
};

struct step {
	uint32_t latest; /* job */
	uint32_t previous; /* job before that, or GRAPH_NONE */
	uint32_t first; /* job */
	uint32_t n_jobs;
	bool stale;
	const char *stale_path; /* see graph_node */
};

struct graph {
	struct pool pool;
	const struct graph_job *jobs;
	uint32_t n_jobs;
	bool expanded;
	struct row *rows;
	uint32_t n_rows;
	uint32_t *job_rows; /* rows of job j: job_rows[j] to job_rows[j + 1] - 1 */
	uint32_t *job_step;
	uint32_t *job_attempt;
	struct step *steps;
	uint32_t n_steps;
	uint32_t n_paths, n_contents, n_pairs;
	struct groups by_path, by_content, by_pair; /* output rows */
	uint32_t *pair_row; /* first row of each pair */
	struct graph_node *nodes;
	uint32_t n_nodes;
	struct graph_artifact *artifacts;
	size_t n_artifacts;
};

/* graph_index.c: numbers and groups. */
int graph_index(struct graph *g, const struct graph_file *files,
		size_t n_files);

/* Counts the keys of `n` items into groups: items keep their order.  Keys of
 * GRAPH_NONE are left out. */
int graph_group(struct graph *g, const uint32_t *keys, const uint32_t *values,
		uint32_t n, uint32_t n_groups, struct groups *ret);

/* How a producer was found. */
enum link { LINK_NONE, LINK_CONTENT, LINK_PATH };

/* The output row that produced what `row` read.  `other_step`: only jobs of other steps
 * are producers, and a path is enough; else all other jobs, and a path is enough only
 * where content is unknown. */
enum link graph_producer(const struct graph *g, const struct row *row,
			 bool other_step, uint32_t *ret_row);

/* The output row of that job for that path, or GRAPH_NONE. */
uint32_t graph_written(const struct graph *g, uint32_t path, uint32_t job);

/* The last output row for that path by a step other than `step` (GRAPH_NONE:
 * by any); GRAPH_NONE when there is none. */
uint32_t graph_last_writer(const struct graph *g, uint32_t path, uint32_t step);

static inline void *graph_array(struct graph *g, size_t n, size_t size)
{
	return pool_zalloc(&g->pool, (n ? n : 1) * size);
}

#endif
