/* progress.h - a progress bar on the terminal while files are hashed or transferred.
 *
 * It measures bytes: of the files that remain to be hashed when the command of a run has
 * ended, of all files of `roar hash`, or of those that `roar put` and `roar get` transfer.
 * Nothing is shown for the first half second, nor if stderr is not a terminal.  The bar
 * uses the columns that the figures leave. */
#ifndef ROAR_CLI_PROGRESS_H
#define ROAR_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "hash/jobs/hasher.h"

struct progress {
	bool enabled;
	bool shown; /* there is a line to clear */
	const char *verb; /* "hashing"; the caller may set another */
	int64_t start_ns;
	struct hasher_progress before; /* at the start of the bar */
	uint64_t n_planned; /* least number of files that will be submitted */
	uint64_t bytes_planned;
};

/* Earlier work of the hasher does not count; NULL: there is no hasher. */
struct progress progress_start(bool wanted, struct hasher *hasher);

/* One more file of that size will be submitted. */
void progress_plan(struct progress *progress, uint64_t bytes);

/* hasher_drain()'s callback; ctx is the struct progress. */
void progress_show(void *ctx, const struct hasher_progress *p);

/* Clears the line. */
void progress_end(struct progress *progress);

#endif
