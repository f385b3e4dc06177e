/* tidy_trees.h - trees go with the record of the content they are of.
 *
 * A run keeps the tree of a file before the file is on record.  Whoever tidies up
 * meanwhile takes such a tree away, and the next verify makes it again. */
#ifndef ROAR_TIDY_TREES_H
#define ROAR_TIDY_TREES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct store_file;
struct view;

/* Removes the trees of these files' contents that are not on record any more.  What
 * fails stays, for `roar db --compact`. */
void tidy_trees_of(struct view *v, const struct store_file *files, size_t n);

/* Removes all trees of content that is not on record. */
int tidy_trees(struct view *v, uint64_t *ret_bytes, struct roar_error *err);

#endif
