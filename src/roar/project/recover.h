/* recover.h - records of runs whose roar was killed.
 *
 * Each run in flight has a journal in .roar/runs/.  One without a living writer
 * belongs to a killed roar: its events are folded, what can still be hashed is
 * hashed, and the job is recorded as interrupted and incomplete.
 *
 * The promise begins when the journal has its name, and that is before the command
 * exists: a run whose command has executed one instruction is recorded, once,
 * whichever process of roar is killed then, be it the one that recovers. */
#ifndef ROAR_RECOVER_H
#define ROAR_RECOVER_H

#include "base/error.h"

struct project;
struct store;

/* Completes all such records.  Returns how many, or a negative errno. */
int recover_runs(struct project *project, struct store *store,
		 struct roar_error *err);

#endif
