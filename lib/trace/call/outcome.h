/* outcome.h - what came of a call that will not return.
 *
 * A thread that is killed inside a call may have done it all the same: the kernel
 * finishes what it is at, but no stop follows.  Then the file system tells:
 *
 *	rename		the file stands under the new name, not the old one
 *	link, symlink	the new name is that file, and changed since the entry
 *	unlink		the name is gone, or names another file
 *	mknod, create	the file is there, and changed since the entry
 *	truncate	the file changed since the entry
 *
 * An open that changed nothing by itself is as good as none: nobody has got the
 * descriptor. */
#ifndef ROAR_TRACE_CALL_OUTCOME_H
#define ROAR_TRACE_CALL_OUTCOME_H

struct observer;
struct tracee;

/* The thread is gone, or is about to be forgotten: tells what its pending call did,
 * if anything, and ends it.  Needs pending.entry_ns. */
void outcome_tell(struct observer *o, struct tracee *t);

#endif
