/* recover.h - completes the records of runs whose roar was killed.
 *
 * Each run in progress has a journal in .roar/runs/.  A journal without a living writer
 * belongs to a killed roar: its events are folded, the files that still exist are hashed,
 * and the job is recorded as interrupted and incomplete.
 *
 * This is guaranteed from the moment the journal has its name, which is before the command
 * is started.  A run whose command has executed one instruction is recorded exactly once,
 * whichever process of roar is killed, including one that recovers. */
#ifndef ROAR_RECOVER_H
#define ROAR_RECOVER_H

#include "base/error.h"

struct project;
struct store;

/* Completes all such records.  Returns their number, or a negative errno. */
int recover_runs(struct project *project, struct store *store,
		 struct roar_error *err);

#endif
