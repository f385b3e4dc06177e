/* hash_tree.h - one digest for a whole folder: lib/hash/dir/dir_hash.h says of what. */
#ifndef ROAR_HASH_TREE_LINES_H
#define ROAR_HASH_TREE_LINES_H

#include "hash/jobs/engine.h"

/* Prints a line for each folder of the list.  What is in the way is told on the standard
 * error at the end; a folder with such a name has no line.  Returns an exit status. */
int hash_tree(const struct engine_options *options, char *const *folders);

#endif
