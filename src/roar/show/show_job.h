/* show_job.h - data of a job, read by show_job.c and also used by show_job_json.c. */
#ifndef ROAR_SHOW_JOB_H
#define ROAR_SHOW_JOB_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macros.h"
#include "lineage/fold.h"
#include "show/show_object.h"
#include "show/show_tags.h"

struct show_options;
struct view;

struct job_block {
	struct view *view;
	const struct store_job *job;
	const struct show_options *options;
	struct store_file *files;
	size_t n_files;
	struct store_gap *gaps;
	size_t n_gaps;
	struct store_process *processes;
	size_t n_processes;
	struct store_rank *ranks; /* by process */
	size_t n_ranks;
	struct substeps *tree; /* with --processes; else NULL */
	struct store_left_out *left_out;
	size_t n_left_out;
	struct store_shard *shards;
	size_t n_shards;
	struct store_filter_count *filters;
	size_t n_filters;
	struct show_tags tags;
	struct show_objects objects;
	int64_t n_executions; /* of the step, in its session */
};

/* The roles that make up the lists, in the order they are shown. */
static const unsigned job_block_roles[] = { LINEAGE_INPUT, LINEAGE_OUTPUT,
					    LINEAGE_TEMPORARY,
					    LINEAGE_TOUCHED };

enum { JOB_BLOCK_ROLES = ARRAY_SIZE(job_block_roles) };

/* Appends the JSON object of the job. */
int show_job_json(struct job_block *b, struct roar_error *err);

#endif
