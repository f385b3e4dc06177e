/* git_tree.h - compares the work tree with the index, by stat alone.
 *
 * git records in the index the stat data of each file when its content was last
 * compared.  A file with the same stat data is unchanged, unless it was written in the
 * same tick as the index (git calls such an entry racy): then equal stat data proves
 * nothing. */
#ifndef ROAR_GIT_TREE_H
#define ROAR_GIT_TREE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stamp.h"
#include "base/str.h"

struct git_config;
struct git_index_entry;
struct git_repo;

struct git_tree {
	const struct git_repo *repo;
	const struct git_config *config;
	const char *own; /* directory that does not count, or NULL */
	int root_fd;
	struct str index; /* the whole file; empty when there is none */
	struct stamp index_stamp; /* ino 0: there is none */
	uint32_t n_submodules; /* checked out, counted by git_tree_scan() */
};

/* Opens the root and reads the index.  Borrows all arguments. */
int git_tree_open(struct git_tree *tree, const struct git_repo *repo,
		  const struct git_config *config, const char *own);
void git_tree_close(struct git_tree *tree);

/* Calls `fn` for every entry that stat cannot prove unchanged, with its current stamp.
 * Stops when `fn` returns non-zero and returns that.  Else 0, -ECANCELED, -EBADMSG for
 * a damaged index, -EOPNOTSUPP for a split one. */
int git_tree_scan(struct git_tree *tree, const atomic_bool *cancel,
		  int (*fn)(void *ctx, const struct git_index_entry *entry,
			    const struct stamp *now),
		  void *ctx);

#endif
