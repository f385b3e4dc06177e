/* upstream.h - before a step is run again: is what it builds on up to date?
 *
 * A step that is run on outputs of a stale step is up to date with old data.  The
 * user may want just that, so it is a warning and nothing is run unasked. */
#ifndef ROAR_QUERY_UPSTREAM_H
#define ROAR_QUERY_UPSTREAM_H

struct store;
struct store_job;

/* Says on stderr, in one line, which steps that `job` builds on, directly or not,
 * are stale, in the order they should be run; nothing when there are none.
 * Returns how many there are, or a negative errno when that could not be told.
 *
 * Reads the files of the job's session and makes its graph, as `roar status`
 * does: milliseconds for thousands of rows.  A job that has neither inputs nor
 * outputs depends on nothing and costs nothing. */
int upstream_warn(struct store *s, const struct store_job *job);

#endif
