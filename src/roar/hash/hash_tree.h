/* hash_tree.h - one digest for a whole directory, defined in lib/hash/dir/dir_hash.h. */
#ifndef ROAR_HASH_TREE_LINES_H
#define ROAR_HASH_TREE_LINES_H

#include "hash/jobs/engine.h"

/* Prints a line for each directory of the list.  Errors are printed to stderr at the end; a
 * directory with an error has no line.  Returns an exit status. */
int hash_tree(const struct engine_options *options, char *const *folders);

#endif
