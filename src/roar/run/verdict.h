/* verdict.h - how completely a run was observed.
 *
 * A record is complete when nothing is known to have escaped it.  The reasons
 * against it are gaps of the fold; the rest (who observed, how long the command had
 * to wait for that, what was counted) is for whoever wants to judge for himself. */
#ifndef ROAR_RUN_VERDICT_H
#define ROAR_RUN_VERDICT_H

#include <stdbool.h>

struct run;
struct store_job;
struct str;

/* The exit status of a run that had to be complete and is not, when the command
 * itself ended with 0. */
enum { EXIT_INCOMPLETE = 125 };

bool verdict_is_complete(const struct run *run);

/* Fills in what the record tells of the observation.  0 or -ENOMEM. */
int verdict_fill(struct run *run, struct store_job *job);

/* The exit status to end with, given the command's.  Says so when run.require_complete
 * makes it another.  `recorded`: there is a record at all. */
int verdict_code(const struct run *run, int code, bool recorded);

/* A line for each set-user-id program that could not have its privilege. */
void verdict_add_advice(struct str *out, const struct run *run);

#endif
