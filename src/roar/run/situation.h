/* situation.h - what the machine, the environment and the packages of the run were.
 *
 * The documents are made by lib/capture from what the tracer has seen, after the command
 * has ended, and are recorded in the transaction of the record.  Nothing here makes a
 * record fail: what cannot be found out is missing. */
#ifndef ROAR_RUN_SITUATION_H
#define ROAR_RUN_SITUATION_H

#include "base/error.h"

struct run;
struct situation;
struct store;

/* Makes the documents, in run->situation.  Call it when the files are classified. */
void situation_collect(struct run *run);
void situation_free(struct situation *situation);

int situation_record(struct run *run, struct store *store,
		     struct roar_error *err);

#endif
