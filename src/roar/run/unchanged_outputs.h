/* unchanged_outputs.h - files that were written and are what they were.
 *
 * Content counts, not times: a file that was opened for writing, perhaps emptied,
 * and has the same content in the end is not an output.  It must be known what it
 * was before.  That is so when the run has read it first, or when it was opened
 * without emptying it and the digest cache has its old stamp.  What was emptied
 * unread is an output, because nobody knows what it had been: not every tracer hears
 * of the call before the content is gone, and all must say the same.  What was
 * created, renamed or linked is an output whatever it holds. */
#ifndef ROAR_RUN_UNCHANGED_OUTPUTS_H
#define ROAR_RUN_UNCHANGED_OUTPUTS_H

struct run;

/* Takes the role of an output from such files; for classify.c, when all digests are
 * there and have been judged. */
void unchanged_outputs_drop(struct run *run);

#endif
