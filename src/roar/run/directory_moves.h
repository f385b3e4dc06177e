/* directory_moves.h - what moved along with a renamed directory */
#ifndef ROAR_RUN_DIRECTORY_MOVES_H
#define ROAR_RUN_DIRECTORY_MOVES_H

struct run;

/* Adds to the fold what lies below the directories that the run has renamed.  More
 * names than anybody would wait for are a gap. */
void directory_moves_follow(struct run *run);

#endif
