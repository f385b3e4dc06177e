/* graph.h - the pipeline that the jobs of a session form.
 *
 * Jobs and the files they read and wrote go in; steps, their dependencies and the state
 * of every artifact come out.  Nothing was declared: the edges follow from content and,
 * where content is unknown, from paths.  No I/O.
 *
 * Nodes.  A step that was run several times is one node, its latest execution; in the
 * expanded graph every execution is a node and the older ones are superseded.
 *
 * Dependencies.  For each file that a job read, the producer is searched among the jobs
 * of other steps, in this order:
 *	1. wrote this content to this path	the latest before the job
 *	2. wrote this content to any path	the latest before any job had
 *						it at this one: a later job that
 *						wrote it elsewhere made a copy
 *	3. as 1, then as 2, recorded later	jobs may overlap
 *	4. wrote other content to this path	the latest before, else any
 * In 2 and 3 the file must not have existed before: a file last changed before the
 * other was written was not made from it.  Equal or unknown times do not exclude a
 * producer, but are not evidence for 3 as 2 either.  Empty content is not evidence in
 * 2: all empty files are the same artifact.
 *
 * graph_maker() finds the producer of one file among all other jobs.  There a path is
 * not sufficient unless the content is unknown.
 *
 * Content that a job renamed or linked without reading it makes the dependency that
 * reading it under its old path would have made.  It is not an input, and its
 * producer's output is not consumed: the counts leave it out.
 *
 * Stale.  The latest execution S of a step is stale when, for a path it read, the last
 * job of another step that wrote this path
 *	- left other content there than S had read, or the same where S itself
 *	  had changed the file in place, and
 *	- started after S.
 * A step that read a file edited by hand after its producer ran is not stale: it has
 * read the current content.  A step that read a file before any step wrote it becomes
 * stale when one does.  A rerun that writes the same content makes nothing else stale.
 * Unidentified content is not evidence either way.  Everything that depends on a stale
 * step is stale.  Cycles (a step that updates a file in place, steps that feed each
 * other) are allowed.
 *
 * Cached.  The latest execution wrote exactly what the one before it wrote.
 *
 * Artifacts.  One per path and content that any job wrote or a node read:
 *	superseded	a later job left other content at that path
 *	orphaned	the step no longer makes this path, and no other step does
 *	stale		made by a stale step
 *	active		everything else; also files from outside the session
 *
 * The input arrays are borrowed and must outlive the graph, which belongs to one
 * thread.  Time and memory are linear in jobs and files. */
#ifndef ROAR_LINEAGE_GRAPH_H
#define ROAR_LINEAGE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct graph;
struct pool;

/* A job.  The array is ordered by time of record, oldest first. */
struct graph_job {
	int64_t id; /* unique */
	int64_t step;
	bool is_build; /* build steps are counted apart */
	int64_t started_ns;
};

/* One input or output of a job; files of unknown jobs are left out. */
struct graph_file {
	int64_t job_id;
	const char *path;
	int64_t artifact; /* identity of the content; 0: not identified */
	int64_t size; /* bytes */
	int64_t time_ns; /* output: when its content was complete; input: when
			  * the file was last changed, moved or linked before it
			  * was read; 0: unknown */
	bool is_output;
	bool is_moved; /* an input that was renamed or linked, not read */
};

enum graph_state {
	GRAPH_ACTIVE,
	GRAPH_CACHED, /* nodes only */
	GRAPH_STALE,
	GRAPH_SUPERSEDED,
	GRAPH_ORPHANED, /* artifacts only */
	GRAPH_STATE_END,
};

#define GRAPH_NONE UINT32_MAX

struct graph_node {
	uint32_t job; /* index in the array of jobs */
	enum graph_state state;
	uint32_t attempt; /* 1 for the first execution of the step */
	uint32_t n_inputs;
	uint32_t n_outputs;
	uint32_t n_consumed; /* its outputs that other nodes read */
	const uint32_t *deps; /* nodes, ascending */
	uint32_t n_deps;
	const char *stale_path; /* the input that was written again; NULL: none,
				 * it may depend on a stale step */
};

struct graph_artifact {
	const char *path;
	int64_t artifact; /* 0: not identified */
	int64_t size;
	enum graph_state state;
	uint32_t producer; /* node; GRAPH_NONE: from outside the session */
	const uint32_t *consumers; /* nodes, ascending */
	uint32_t n_consumers;
	bool is_terminal; /* made here, current, not read by any node */
	int64_t superseded_by; /* superseded: the content there now */
};

/* 0, -ENOMEM, or -EOVERFLOW past 2^31 jobs or files. */
int graph_new(const struct graph_job *jobs, size_t n_jobs,
	      const struct graph_file *files, size_t n_files, bool expanded,
	      struct graph **ret_graph);
void graph_free(struct graph *graph);
DEFINE_CLEANUP(struct graph *, graph_free)

/* Ordered by the first execution of the step; expanded: as the jobs are. */
const struct graph_node *graph_nodes(const struct graph *graph, size_t *ret_n);

/* In the order of the files. */
const struct graph_artifact *graph_artifacts(const struct graph *graph,
					     size_t *ret_n);

/* "active", "cached", ... */
const char *graph_state_name(enum graph_state state);

/* The index of the job that produced `file`, which is an input of the array that the
 * graph was made from; GRAPH_NONE when no job of the graph did.  Follows executions,
 * not steps: a job that continued from an earlier result of its own step finds it. */
uint32_t graph_maker(const struct graph *graph, const struct graph_file *file);

#endif
