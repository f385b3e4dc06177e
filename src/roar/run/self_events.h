/* self_events.h - from what a program reports of itself to facts.
 *
 * The operations of a report (event/self_report.h) become events, with names free of symbolic
 * links as they are now, and are folded.  A report comes when all is over, so what it does not
 * know of a file is taken from the file system. */
#ifndef ROAR_RUN_SELF_EVENTS_H
#define ROAR_RUN_SELF_EVENTS_H

#include <stddef.h>
#include <stdint.h>

struct run;

/* `text` is a report that was checked.  0 or -ENOMEM. */
int self_events_fold(struct run *run, const char *text, size_t len, int32_t pid,
		     int64_t started_ns);

#endif
