/* history.h - figures of the server for the last minutes, one row per second.
 *
 * The figures of a row for calls, barriers and commits cover its own second: the counters
 * and histograms for Prometheus are cumulative, so each row is the difference of two
 * samples. */
#ifndef COORDINATOR_HISTORY_H
#define COORDINATOR_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"

enum { HISTORY_MAX = 300 }; /* rows: five minutes */

/* A quantile is negative if nothing of the kind happened in that second. */
struct history_row {
	uint64_t id; /* from 1 on */
	int64_t wall_ms; /* its end */
	double seconds; /* its length: above 1 if the server was delayed */
	uint64_t requests;
	uint64_t barriers; /* that ended */
	uint64_t records; /* appended to the log */
	double heartbeat_p50_us, heartbeat_p99_us;
	double barrier_p50_us, barrier_p99_us; /* wait of the first arrival */
	double skew_p99_us; /* between the first and the last arrival */
	double sync_p50_us, sync_p99_us; /* commits */
	double checkpoint_bytes; /* reported by workers */
};

/* Cumulative figures. */
struct history_totals {
	uint64_t requests, records;
	uint64_t checkpoint_bytes;
	struct histogram heartbeat, barrier, skew, sync;
};

struct history {
	struct history_row rows[HISTORY_MAX]; /* by id modulo HISTORY_MAX */
	uint64_t last; /* id of the newest; 0: none */
	struct history_totals before;
	int64_t before_ms; /* mono: time of `before` */
};

/* Adds a row for the time since the last call. */
void history_add(struct history *h, int64_t mono_ms, int64_t wall_ms,
		 const struct history_totals *now);

/* The first row after `id`; NULL: none. */
const struct history_row *history_after(const struct history *h, uint64_t id);

/* Checkpoint bytes per second in the last `seconds` rows; negative: none. */
double history_checkpoint_rate(const struct history *h, unsigned seconds);

#endif
