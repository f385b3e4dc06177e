/* transfer_report.h - how a transfer begins and ends, for `roar put` and `roar get`. */
#ifndef ROAR_TRANSFER_REPORT_H
#define ROAR_TRANSFER_REPORT_H

#include "transfer/transfer.h"

struct args;
struct git_facts;

/* Opens the project, or makes one. */
int transfer_open(struct transfer *t, struct project *project,
		  struct roar_error *err);
/* After the items are listed: signals, the progress bar, a look at git. */
void transfer_begin(struct transfer *t);
/* After all was transferred, or failed with `r`: records, tags, reports.  Returns the exit
 * status. */
int transfer_conclude(struct transfer *t, const struct args *args, int r,
		      bool wants_tag, struct roar_error *err);

/* One sentence; returns the exit status. */
int transfer_report_failure(const struct transfer *t, int r,
			    const struct roar_error *err);
/* What would be done; returns the exit status. */
int transfer_report_plan(struct transfer *t, bool is_put);

#endif
