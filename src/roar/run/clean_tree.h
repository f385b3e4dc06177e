/* clean_tree.h - the setting run.require_clean. */
#ifndef ROAR_RUN_CLEAN_TREE_H
#define ROAR_RUN_CLEAN_TREE_H

struct project;

/* Waits for git.  0: the work tree of the current directory is clean, or there is none; else
 * the exit status 1, after printing why nothing is run. */
int clean_tree_require(const struct project *project);

#endif
