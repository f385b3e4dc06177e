/* tidy_trees.h - removes leaf trees of content that is no longer on record.
 *
 * A run stores the tree of a file before the file is on record.  A concurrent cleanup
 * removes such a tree, and the next verify stores it again. */
#ifndef ROAR_TIDY_TREES_H
#define ROAR_TIDY_TREES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct store_file;
struct view;

/* Removes the trees of these files' contents that are no longer on record.  Failures are
 * left to `roar db --compact`. */
void tidy_trees_of(struct view *v, const struct store_file *files, size_t n);

/* Removes all trees of content that is not on record. */
int tidy_trees(struct view *v, uint64_t *ret_bytes, struct roar_error *err);

#endif
