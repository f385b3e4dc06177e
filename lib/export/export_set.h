/* export_set.h - the jobs and files that an export is about.
 *
 * A set is made once from the record; each format is a function that writes it.  Jobs come
 * in an order in which each follows those that it depends on; cycles are entered at their
 * oldest job.  An entity is content at a path: what one job wrote and another read there
 * is one entity, so that edges need no look-up.
 *
 *	job.inputs ──▶ entity.maker ──▶ job.outputs ──▶ ...
 *
 * Who made what follows the rules of lineage/graph.h within the set.  Content that was
 * made at another path has its own entity, whose `copy_of` is the one that was made.
 *
 * Nothing here prints.  Everything lives in the pool of the query. */
#ifndef ROAR_EXPORT_EXPORT_SET_H
#define ROAR_EXPORT_EXPORT_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "hash/digest/digest.h"

struct query;
struct store_file;
struct store_job;

#define EXPORT_NONE UINT32_MAX

struct export_entity {
	const char *path; /* as recorded: absolute, or a URL of an object */
	const char *name; /* from the top of the project, if it is below it */
	struct digests digests; /* all that are recorded */
	int64_t artifact_id; /* 0: content not identified */
	int64_t size; /* bytes */
	uint32_t maker; /* job; EXPORT_NONE: from outside of the set */
	uint32_t copy_of; /* entity; EXPORT_NONE */
	uint32_t n_users; /* jobs that read it */
	bool is_object; /* in an object store */
	bool is_moved_only; /* its users renamed it and did not read it */
};

struct export_job {
	const struct store_job *job;
	const char *ref; /* "@2", "@B1"; with ".N" if the step is there twice */
	const uint32_t *inputs, *outputs; /* entities */
	size_t n_inputs, n_outputs;
	const uint32_t *deps; /* jobs that come before it, unless in a cycle */
	size_t n_deps;
};

struct export_set {
	struct query *query;
	const char *root; /* of the project, absolute */
	struct export_job *jobs;
	size_t n_jobs;
	struct export_entity *entities; /* in the order of the jobs */
	size_t n_entities;
	int64_t subject; /* artifact that the export is about; 0: all results */
};

/* Reads the jobs with these ids, and their kept inputs and outputs. */
int export_set_load(struct query *q, const char *root, const int64_t *ids,
		    size_t n_ids, struct export_set *ret,
		    struct roar_error *err);

/* export_digests.c: computes missing digests of entities from the files that are still
 * there with the recorded content.  Returns how many entities still lack one of `want`,
 * or -ENOMEM. */
int64_t export_digests_complete(struct export_set *set, digest_set want);

#endif
