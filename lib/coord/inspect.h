/* inspect.h - reads the state of a coordinator, for the HTTP API.
 *
 * Like coord_count() these are not requests: they neither record anything nor count as use
 * of a job.  What they pass to `each` is valid during the call only.  `job` selects one job,
 * NULL all of them. */
#ifndef COORD_INSPECT_H
#define COORD_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coord/coord.h"

enum { COORD_NOT_COUNTED = -1 }; /* a figure that is not kept */

/* ---- jobs, workers, barriers: as in the replies of roar.Control ---- */

void coord_each_job(const struct coord *c, const char *job,
		    void (*each)(void *data, const Roar__JobStatus *status),
		    void *data);
/* Starts at a rank, at most `max` workers; returns their number. */
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
	int64_t table_version; /* 0: not dealt yet */
	/* Shards of the workers with the fewest and the most. */
	int64_t min_shards, max_shards;
	int64_t moved_shards; /* by all deals */
	int64_t last_moved,
		last_minimum; /* by the last deal; the fewest possible */
	const char *balance; /* "count", "weight", ... */
	/* Balanced by bytes: the same in bytes, and the largest and smallest load. */
	int64_t last_moved_bytes, last_minimum_bytes, max_bytes, min_bytes;
	int64_t at_home; /* balanced by locality: shards at home */
	int64_t consumed_samples; /* of the epoch */
	int64_t epoch; /* current */
};

void coord_each_dataset(const struct coord *c, const char *job,
			void (*each)(void *data,
				     const struct coord_dataset_look *d),
			void *data);

/* Number of shards of a worker, over all datasets of its job. */
int64_t coord_shards_of(const struct coord *c, const char *job, int32_t rank);

/* ---- checkpoints ---- */

struct coord_step_look {
	const char *job;
	int64_t step, epoch;
	int32_t expected; /* parts that make it complete */
	size_t n_parts;
	bool complete;
	int64_t size_bytes; /* of all parts, as reported */
	int64_t saved_ms; /* of the last part, as reported; 0: not reported */
	/* Of CommitCheckpoint, else NULL. */
	const char *save_id;
	const uint8_t *manifest; /* 32 bytes; NULL: not committed */
	const char *trouble; /* why it failed */
	const char *
		told_by; /* the worker that committed it, or says that it failed */
	const void *parts; /* for coord_step_part() */
};

/* The newest step first. */
void coord_each_step(const struct coord *c, const char *job,
		     void (*each)(void *data, const struct coord_step_look *s),
		     void *data);
const Coordinator__CheckpointInfo *
coord_step_part(const struct coord_step_look *s, size_t i);

#endif
