/* live_table.h - the workers as last sent to event streams, and their changes.
 *
 * A sweep reads all workers, a part at a time, so that ten thousand of them do not delay a
 * barrier.  Each sweep has a number.  If the figures of a worker have changed since the
 * last sweep, its JSON is written again and marked with the number of this sweep.  A client
 * that has everything up to sweep N gets the rows with a higher mark.  So the changes of a
 * worker between two updates are one row, however slow the client is.
 *
 * A row of a worker that is gone stays until all clients were notified. */
#ifndef COORDINATOR_LIVE_TABLE_H
#define COORDINATOR_LIVE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/str.h"

struct server;

struct live_row {
	char *key; /* JOB, a NUL, ID; the key in the map */
	size_t key_len;
	const char *job;
	struct str name; /* "job":"..","id":".." and so on: members of an object */
	struct str place;
	struct str pulse;
	uint64_t place_look, pulse_look; /* digests of their source values */
	uint64_t place_version, pulse_version;
	uint64_t gone_version; /* 0: it exists */
	uint64_t seen; /* the last sweep that found it */
};

struct live_table {
	struct map by_key;
	struct live_row **rows;
	size_t n_rows, cap_rows;
	uint64_t version; /* of the current sweep, or the last */
	/* the current sweep */
	bool sweeping;
	char **jobs;
	size_t n_jobs, cap_jobs;
	size_t job; /* index of the current job */
	size_t rank; /* next rank there */
	uint64_t epoch; /* of that job's world */
	/* Ranks changed meanwhile: a worker may have been missed. */
	bool unsure;
	bool failed; /* out of memory */
};

enum { LIVE_SLICE = 1000 }; /* workers read at a time */

void live_table_release(struct live_table *t);

void live_table_begin(struct live_table *t, struct server *s);
/* Continues the sweep; true when it is complete. */
bool live_table_slice(struct live_table *t, struct server *s);

/* The worker exists, and has changed since sweep `seen`. */
bool live_row_is_news(const struct live_row *row, uint64_t seen);
/* Appends the changes since sweep `seen`: an object. */
void live_row_write(const struct live_row *row, uint64_t seen, struct str *out);
/* The worker has gone since sweep `seen`. */
bool live_row_is_news_of_end(const struct live_row *row, uint64_t seen);

/* Removes the rows of workers that went by sweep `seen`, up to which all clients have
 * everything.  Changes the order of rows. */
void live_table_forget(struct live_table *t, uint64_t seen);

#endif
