/* stale_warning.h - before a step is run again: are its inputs up to date?
 *
 * A step that runs on outputs of a stale step uses old data.  The user may want that,
 * so it is a warning, and roar runs no step unasked. */
#ifndef ROAR_RUN_STALE_WARNING_H
#define ROAR_RUN_STALE_WARNING_H

struct store;
struct store_job;

/* Names on stderr, in one line, the stale steps that `job` depends on, directly or
 * not, in the order they should be run; prints nothing when there are none.
 * Returns how many there are, or a negative errno when the record could not be read.
 *
 * Reads the files of the job's session and builds its graph, as `roar status` does:
 * milliseconds for thousands of rows.  A job without inputs and outputs costs
 * nothing. */
int stale_warning_print(struct store *s, const struct store_job *job);

#endif
