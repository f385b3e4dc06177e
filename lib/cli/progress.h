/* progress.h - a bar on the terminal while hashing takes its time.
 *
 * It measures bytes: of all that is still to be hashed when the command of a run has
 * ended, or of all files of `roar hash`.
 * Nothing is shown for the first half second, nor when stderr is no terminal.  The
 * bar takes the columns that the figures leave. */
#ifndef ROAR_CLI_PROGRESS_H
#define ROAR_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "hash/jobs/hasher.h"

struct progress {
	bool enabled;
	bool shown; /* there is a line to wipe */
	int64_t start_ns;
	struct hasher_progress before; /* when the bar began */
	uint64_t n_planned; /* files that will be submitted, at least */
	uint64_t bytes_planned;
};

/* What the hasher has done before does not count; NULL: there is none. */
struct progress progress_start(bool wanted, struct hasher *hasher);

/* One more file of that size will be submitted. */
void progress_plan(struct progress *progress, uint64_t bytes);

/* hasher_drain()'s callback; ctx is the struct progress. */
void progress_show(void *ctx, const struct hasher_progress *p);

/* Wipes the line. */
void progress_end(struct progress *progress);

#endif
