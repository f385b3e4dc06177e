/* fetched_files.h - the files below a prefix that an interrupted download has fetched.
 *
 * Each is noted in a state file when it has its name.  The same command takes those whose
 * object has the same ETag still and whose content, read again, has the digest that was
 * noted; other files that exist are not replaced without --force. */
#ifndef ROAR_FETCHED_FILES_H
#define ROAR_FETCHED_FILES_H

#include "transfer/transfer.h"

/* Marks the items that are there as done.  Without a prefix there is nothing to do. */
int fetched_files_take(struct transfer *t, struct roar_error *err);
/* Notes one that was fetched.  A failure costs another download of it only. */
void fetched_files_add(struct transfer *t, const struct transfer_item *item);
/* The step is recorded: there is nothing to continue. */
void fetched_files_end(struct transfer *t);
void fetched_files_close(struct transfer *t);

#endif
