/* outcome.h - what came of a call whose end nobody saw.
 *
 * A thread that is killed inside a call may have done it all the same: the kernel
 * finishes what it is at, but no stop follows and no library speaks.  Others never
 * tell.  Then the file system does, by what stands under the names now:
 *
 *	rename		the file stands under the new name, not the old one
 *	link, symlink	the new name is that file, and changed since the entry
 *	unlink		the name is gone, or names another file
 *	mknod		the file is there, and changed since the entry
 *	create		the file is there, and was not
 *	truncate	the file changed since the entry
 *
 * Where it cannot tell, because others have moved the file on or the names are shut
 * to us, somebody has to say that something may be missing. */
#ifndef ROAR_TRACE_CALL_OUTCOME_H
#define ROAR_TRACE_CALL_OUTCOME_H

#include <stdbool.h>

struct observer;
struct pending;
struct tracee;

enum outcome { OUTCOME_NOT_DONE, OUTCOME_DONE, OUTCOME_UNKNOWN };

/* What the file system shows of a call that opens a file or changes a name; needs
 * pending.entry_ns.  Of an open that changes nothing by itself it shows nothing. */
enum outcome outcome_of(const struct pending *w);

/* Might the call have changed anything by itself?  An open for reading does not: if
 * nobody has got the descriptor, it is as good as none. */
bool outcome_matters(const struct pending *w);

/* The thread is gone, or is about to be forgotten, and was seen to make no other
 * call: tells what its pending call did, if anything, and ends it. */
void outcome_tell(struct observer *o, struct tracee *t);

#endif
