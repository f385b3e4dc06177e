/* progress.h - a bar on the terminal while hashing takes its time.
 *
 * Nothing is shown for the first half second, nor when stderr is no terminal. */
#ifndef ROAR_RUN_PROGRESS_H
#define ROAR_RUN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct hasher_progress;

struct progress {
	bool enabled;
	bool shown; /* there is a line to wipe */
	int64_t start_ns;
	uint64_t bytes_before; /* read before the bar began */
};

struct progress progress_start(bool wanted);

/* hasher_drain()'s callback; ctx is the struct progress. */
void progress_show(void *ctx, const struct hasher_progress *p);

/* Wipes the line. */
void progress_end(struct progress *progress);

#endif
