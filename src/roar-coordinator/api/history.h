/* history.h - the last minutes of the server in figures, one row a second.
 *
 * What a row says of calls, barriers and commits is of its own second: the histograms
 * that Prometheus gets only grow, so each row is the difference of two looks. */
#ifndef COORDINATOR_HISTORY_H
#define COORDINATOR_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"

enum { HISTORY_MAX = 300 }; /* rows: five minutes */

/* A quantile of a second in which nothing of the kind happened is negative. */
struct history_row {
	uint64_t id; /* from 1 on */
	int64_t wall_ms; /* its end */
	double seconds; /* its length: more than one, if the server could not run */
	uint64_t requests;
	uint64_t barriers; /* that ended */
	uint64_t records; /* handed to the log */
	double heartbeat_p50_us, heartbeat_p99_us;
	double barrier_p50_us, barrier_p99_us; /* what the first waited */
	double skew_p99_us; /* how much later the last came */
	double sync_p50_us, sync_p99_us; /* commits */
	double checkpoint_bytes; /* that workers said to have saved */
};

/* What only grows, as it is now. */
struct history_totals {
	uint64_t requests, records;
	uint64_t checkpoint_bytes;
	struct histogram heartbeat, barrier, skew, sync;
};

struct history {
	struct history_row rows[HISTORY_MAX]; /* by id modulo HISTORY_MAX */
	uint64_t last; /* id of the newest; 0: none */
	struct history_totals before;
	int64_t before_ms; /* mono; when they were so */
};

/* The row of the time since the last call, whose figures only begin. */
void history_add(struct history *h, int64_t mono_ms, int64_t wall_ms,
		 const struct history_totals *now);

/* The first row behind `id`; NULL: there is none. */
const struct history_row *history_after(const struct history *h, uint64_t id);

/* Bytes a second of checkpoints in the last `seconds` rows; negative: there were none. */
double history_checkpoint_rate(const struct history *h, unsigned seconds);

#endif
