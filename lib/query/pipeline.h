/* pipeline.h - a session as a graph, with its rows.
 *
 * Reads the jobs of a session and their inputs and outputs; lineage/graph.h makes nodes
 * and artifacts of them.  A node leads to its job, an artifact to its digests and to
 * the newest row that wrote it.  A job that renamed or linked a file of an earlier one
 * depends on it (producer.h).
 *
 * All jobs take part in the graph, but only those that become nodes are read in full,
 * and none with PIPELINE_NO_JOBS.  The rows live in the pool of the query; the maps and
 * the graph until pipeline_release(). */
#ifndef ROAR_QUERY_PIPELINE_H
#define ROAR_QUERY_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/map.h"
#include "hash/digest/digest.h"
#include "lineage/graph.h"

struct pool;
struct query;
struct store_file;
struct store_job;
struct store_outline;

struct pipeline {
	struct store_job *jobs; /* those of the nodes */
	size_t n_jobs;
	struct store_outline *outline; /* all jobs; graph_node.job points here */
	size_t n_outline;
	struct store_file *files;
	size_t n_files;
	struct graph *graph;
	const struct graph_node *nodes;
	size_t n_nodes;
	const struct graph_artifact *artifacts;
	size_t n_artifacts;
	struct map by_id; /* job id -> job */
	struct map content; /* artifact id -> a row with its digests */
	struct map written; /* path -> the newest row that wrote it */
	struct map moved; /* path -> the newest row that was renamed from it */
	/* Counts for headlines: */
	size_t n_steps;
	size_t n_stale;
	size_t n_stale_artifacts;
	size_t n_superseded_artifacts;
};

#define PIPELINE_INIT ((struct pipeline){ 0 })

enum pipeline_flags {
	PIPELINE_EXPANDED = 1 << 0, /* a node per execution, not per step */
	PIPELINE_NO_JOBS = 1 << 1, /* pipeline_job() will not be called */
};

/* Reads a session into *p, which is PIPELINE_INIT; with session_id 0 it stays
 * empty.  -EAGAIN when jobs were recorded all the while it was read. */
int pipeline_load(struct query *q, int64_t session_id, unsigned flags,
		  struct pipeline *p, struct roar_error *err);
void pipeline_release(struct pipeline *p);

/* The job of a node; not with PIPELINE_NO_JOBS. */
const struct store_job *pipeline_job(const struct pipeline *p, size_t node);

/* The job without its texts; also with PIPELINE_NO_JOBS. */
const struct store_outline *pipeline_outline(const struct pipeline *p,
					     size_t node);

/* The digests of an artifact; NULL when its content was not identified. */
const struct digests *pipeline_digests(const struct pipeline *p,
				       int64_t artifact);

/* The newest row that wrote the artifact's path; NULL when none did. */
const struct store_file *pipeline_written(const struct pipeline *p,
					  const struct graph_artifact *a);

/* Did a later job rename the file of this row, so that the path is free again? */
bool pipeline_moved_away(const struct pipeline *p,
			 const struct store_file *row);

/* pipeline_order.c: all nodes, with connected ones next to each other.  Groups of
 * connected nodes are ordered by their lowest step; inside a group the steps are in
 * their order, but each after the steps it depends on.  A cycle is entered at its
 * lowest step.  Fills *ret_nodes with p->n_nodes indices, in `pool`.  0 or -ENOMEM. */
int pipeline_order(const struct pipeline *p, struct pool *pool,
		   uint32_t **ret_nodes);

/* Compares two nodes by step, build before run, then by execution; for qsort_r()
 * with the pipeline as its argument. */
int pipeline_by_step(const void *node, const void *other, void *pipeline);

#endif
