/* verdict.h - how completely a run was observed.
 *
 * A record is complete when no gap is known.  The reasons against it are the gaps of
 * the fold.  Other recorded facts of the observation (the tracer, how long the command
 * waited for it, counters) let a reader judge independently. */
#ifndef ROAR_RUN_VERDICT_H
#define ROAR_RUN_VERDICT_H

#include <stdbool.h>

struct run;
struct store_job;
struct str;

/* The exit status of a run that had to be complete and is not, when the command
 * itself ended with 0. */
enum { EXIT_INCOMPLETE = 125 };

/* Adds a gap for each file whose content is not certain.  After all digests are
 * available, and before unchanged_outputs_drop(). */
void verdict_judge(struct run *run);

bool verdict_is_complete(const struct run *run);

/* Fills in the facts of the observation.  0 or -ENOMEM. */
int verdict_fill(struct run *run, struct store_job *job);

/* The exit status of the command, or 128 + signal. */
int verdict_command_code(const struct run *run);

/* The exit status of roar, given the command's.  Prints a message when
 * run.require_complete changes it.  `recorded`: there is a record at all. */
int verdict_code(const struct run *run, int code, bool recorded);

/* Appends a line for each set-user-id program that could not have its privilege. */
void verdict_add_advice(struct str *out, const struct run *run);

#endif
