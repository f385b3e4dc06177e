/* directory_moves.h - files that moved along with a renamed directory.
 *
 * A rename of a directory is one event, but it gives all files below it new names. */
#ifndef ROAR_RUN_DIRECTORY_MOVES_H
#define ROAR_RUN_DIRECTORY_MOVES_H

struct run;

/* Walks the directories that the run has renamed and adds what is below them to the
 * fold.  Too many names are a gap. */
void directory_moves_follow(struct run *run);

#endif
