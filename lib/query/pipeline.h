/* pipeline.h - the active session as a graph, with the rows behind it.
 *
 * Reads the jobs of a session and their inputs and outputs, and lets
 * lineage/graph.h make nodes and artifacts of them.  All jobs take part, but only
 * those that become nodes are read in full, and none where the graph alone is
 * asked for.  A node leads to its job, an artifact to its digests and to the
 * newest row that wrote it.  A job that renamed or linked what an earlier one made
 * depends on it (producer.h).  Everything lives as long as the view. */
#ifndef ROAR_QUERY_PIPELINE_H
#define ROAR_QUERY_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/map.h"
#include "hash/digest/digest.h"
#include "lineage/graph.h"

struct store_file;
struct store_job;
struct store_outline;
struct view;

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

/* Reads v->session; an empty pipeline when there is none. */
int pipeline_load(struct view *v, unsigned flags, struct pipeline *p,
		  struct roar_error *err);
void pipeline_release(struct pipeline *p);

/* The job of a node. */
const struct store_job *pipeline_job(const struct pipeline *p, size_t node);

/* What is known of it without its texts. */
const struct store_outline *pipeline_outline(const struct pipeline *p,
					     size_t node);

/* The digests of an artifact; NULL when its content was not identified. */
const struct digests *pipeline_digests(const struct pipeline *p,
				       int64_t artifact);

/* The newest row that wrote the artifact's path; NULL when none did. */
const struct store_file *pipeline_written(const struct pipeline *p,
					  const struct graph_artifact *a);

/* Did a later job rename what this row wrote, so that nothing is left there? */
bool pipeline_moved_away(const struct pipeline *p,
			 const struct store_file *row);

#endif
