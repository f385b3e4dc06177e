/* unchanged_outputs.h - files that were written and have the same content as before.
 *
 * Content counts, not timestamps: a file that was opened for writing, perhaps
 * truncated, and has the same content in the end is not an output.  Its content before
 * the run must be known: the run has read it first, or it was opened without truncation
 * and the digest cache has its old stamp.  A file that was truncated unread is an
 * output: not every tracer sees the call before the content is gone, and all tracers
 * must give the same record.  A file that was created, renamed or linked is an output
 * whatever its content. */
#ifndef ROAR_RUN_UNCHANGED_OUTPUTS_H
#define ROAR_RUN_UNCHANGED_OUTPUTS_H

struct run;

/* Removes the role of an output from such files.  After verdict_judge(). */
void unchanged_outputs_drop(struct run *run);

#endif
