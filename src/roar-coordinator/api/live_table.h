/* live_table.h - workers as those who watch were told of them, and what is new since.
 *
 * A sweep looks at all workers, a part at a time, so that ten thousand of them hold up
 * nobody's barrier.  Each sweep has a number.  A worker whose figures are not those of
 * the last sweep is written anew, as JSON, and marked with the number of this one; a
 * watcher who has all up to sweep N gets the rows that are marked with more than N.  So
 * what happens to a worker between two looks is one row, however slow the watcher is.
 *
 * A worker that is gone stays as a mark until everybody knows. */
#ifndef COORDINATOR_LIVE_TABLE_H
#define COORDINATOR_LIVE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/str.h"

struct server;

struct live_row {
	char *key; /* JOB, a NUL, ID; the map has it */
	size_t key_len;
	const char *job;
	struct str name; /* "job":"..","id":".." and so on: members of an object */
	struct str place;
	struct str pulse;
	uint64_t place_look,
		pulse_look; /* digests of what they were written from */
	uint64_t place_version, pulse_version;
	uint64_t gone_version; /* 0: it is there */
	uint64_t seen; /* the last sweep that met it */
};

struct live_table {
	struct map by_key;
	struct live_row **rows;
	size_t n_rows, cap_rows;
	uint64_t version; /* of the sweep under way, or the last */
	/* the sweep under way */
	bool sweeping;
	char **jobs;
	size_t n_jobs, cap_jobs;
	size_t job; /* at which it is */
	size_t rank; /* likewise */
	uint64_t epoch; /* of that job's world */
	bool unsure; /* ranks changed meanwhile: somebody may have been missed */
	bool failed; /* no memory */
};

enum { LIVE_SLICE = 1000 }; /* workers that are looked at in one go */

void live_table_release(struct live_table *t);

void live_table_begin(struct live_table *t, struct server *s);
/* Goes on with the sweep; true when it is over. */
bool live_table_slice(struct live_table *t, struct server *s);

/* The worker is there, and not as who knows all up to `seen` knows it. */
bool live_row_is_news(const struct live_row *row, uint64_t seen);
/* Adds what that one does not know: an object. */
void live_row_write(const struct live_row *row, uint64_t seen, struct str *out);
/* It is gone, and who knows all up to `seen` does not know so. */
bool live_row_is_news_of_end(const struct live_row *row, uint64_t seen);

/* Forgets those who are gone and of whom everybody knows: who knows least knows all up to
 * `seen`.  Rows change their places. */
void live_table_forget(struct live_table *t, uint64_t seen);

#endif
