/* moved.h - what moved along with a renamed directory */
#ifndef ROAR_RUN_MOVED_H
#define ROAR_RUN_MOVED_H

struct run;

/* Adds to the fold what lies below the directories that the run has renamed.  More
 * names than anybody would wait for are a gap. */
void moved_follow(struct run *run);

#endif
