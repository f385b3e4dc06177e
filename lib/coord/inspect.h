/* inspect.h - what a coordinator has, for those who show it.
 *
 * Like coord_count() it is no request: a job that is looked at is not used by that, and
 * nothing is recorded.  What it gives lives during the call.  `job` is the one to show,
 * NULL for all of them. */
#ifndef COORD_INSPECT_H
#define COORD_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coord/coord.h"

enum { COORD_NOT_COUNTED = -1 }; /* a figure that nobody keeps */

/* ---- jobs, workers, barriers: as the lists of Control have them ---- */

void coord_each_job(const struct coord *c, const char *job,
		    void (*each)(void *data, const Roar__JobStatus *status),
		    void *data);
/* From a rank on, `max` at most; returns how many. */
size_t coord_each_worker(const struct coord *c, struct coord_now now,
			 const char *job, size_t rank, size_t max,
			 void (*each)(void *data, const Roar__WorkerView *w),
			 void *data);
void coord_each_barrier(const struct coord *c, struct coord_now now,
			const char *job,
			void (*each)(void *data, const char *job,
				     const Roar__BarrierView *b),
			void *data);

/* ---- datasets ---- */

struct coord_dataset_look {
	const char *job;
	const Coordinator__DatasetInfo *info;
	int64_t registered_ms; /* wall */
	int64_t total_shards;
	int64_t table_version; /* 0: nobody has asked, so nobody has any */
	/* Shards of the workers that have the fewest and the most of them. */
	int64_t min_shards, max_shards;
	int64_t moved_shards; /* to another worker, by all deals so far */
	int64_t last_moved,
		last_minimum; /* by the last deal; the fewest that could */
	const char *balance; /* "count", "weight", ... */
	/* By bytes: the same of these, and the largest and smallest load. */
	int64_t last_moved_bytes, last_minimum_bytes, max_bytes, min_bytes;
	int64_t at_home; /* by locality: shards that are */
	int64_t consumed_samples; /* of the epoch under way */
	int64_t epoch; /* that one */
};

void coord_each_dataset(const struct coord *c, const char *job,
			void (*each)(void *data,
				     const struct coord_dataset_look *d),
			void *data);

/* Shards that a worker has, of all datasets of its job. */
int64_t coord_shards_of(const struct coord *c, const char *job, int32_t rank);

/* ---- checkpoints ---- */

struct coord_step_look {
	const char *job;
	int64_t step, epoch;
	int32_t expected; /* parts that make it complete */
	size_t n_parts;
	bool complete;
	int64_t size_bytes; /* of all parts, as workers told */
	int64_t saved_ms; /* when the last was saved, likewise; 0: not told */
	const void *parts; /* for coord_step_part() */
};

/* The newest step first. */
void coord_each_step(const struct coord *c, const char *job,
		     void (*each)(void *data, const struct coord_step_look *s),
		     void *data);
const Coordinator__CheckpointInfo *
coord_step_part(const struct coord_step_look *s, size_t i);

#endif
