/* run_log.h - .roar/roar.log: what became of runs, also of those that print nothing.
 *
 * One line per run, if logging.level asks for it:
 *
 *	2026-05-04T10:20:30Z warning @2 1234abcd: incomplete (an io_uring ...), exit 0
 *
 * At 1 MiB the file becomes roar.log.1, in the place of an older one.  A log that cannot be
 * written is nobody's failure: the record has the same. */
#ifndef ROAR_RUN_LOG_H
#define ROAR_RUN_LOG_H

struct run;

/* `error`: why the run was not recorded; NULL: it was. */
void run_log_end(const struct run *run, const char *error);

#endif
