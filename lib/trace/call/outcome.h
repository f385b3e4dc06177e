/* outcome.h - finds out whether a call had an effect when its return was not seen.
 *
 * A thread that is killed inside a call may still have completed it: the kernel
 * finishes the operation, but no stop follows and no library reports the result.  Other
 * calls never report one.  Then the current state of the file system decides:
 *
 *	rename		the file has the new name, not the old one
 *	link, symlink	the new name is that file, and changed since the entry
 *	unlink		the name is gone, or names another file
 *	mknod		the file exists, and changed since the entry
 *	create		the file exists, and did not exist before
 *	truncate	the file changed since the entry
 *
 * Where the state does not decide, because other processes have moved the file or the
 * directories are not accessible to us, the caller reports a gap. */
#ifndef ROAR_TRACE_CALL_OUTCOME_H
#define ROAR_TRACE_CALL_OUTCOME_H

#include <stdbool.h>

struct observer;
struct pending;
struct tracee;

enum outcome { OUTCOME_NOT_DONE, OUTCOME_DONE, OUTCOME_UNKNOWN };

static inline enum outcome outcome_if(bool done)
{
	return done ? OUTCOME_DONE : OUTCOME_NOT_DONE;
}

/* The outcome of a call that opens a file or changes a name, by the state of the file
 * system; needs pending.entry_ns.  An open that changes nothing by itself has no
 * visible outcome. */
enum outcome outcome_of(const struct pending *w);

/* Can the call have changed anything by itself?  An open for reading cannot: without
 * its descriptor it has no effect. */
bool outcome_matters(const struct pending *w);

/* The thread has ended or is about to be forgotten, and was not seen to make another
 * call: reports the effect of its pending call, if any, and ends it. */
void outcome_tell(struct observer *o, struct tracee *t);

#endif
