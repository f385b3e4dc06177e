/* git_repo.h - where a repository keeps its files.
 *
 * A work tree has a `.git`: the repository itself, or a file that names it ("gitdir:
 * path", for linked work trees and submodules).  A linked work tree has its own HEAD
 * and index and shares the rest through `commondir`. */
#ifndef ROAR_GIT_REPO_H
#define ROAR_GIT_REPO_H

#include <stddef.h>

struct str;

struct git_repo {
	char *root; /* top directory of the work tree */
	char *git_dir; /* HEAD, index */
	char *common_dir; /* refs, config, objects; often the same */
};

void git_repo_release(struct git_repo *repo);

/* Finds the repository whose work tree holds `cwd` (absolute).  Returns 1, or 0 when
 * there is none or `cwd` is in a bare repository, or a negative errno. */
int git_repo_find(const char *cwd, struct git_repo *ret_repo);

/* The same for a work tree whose top directory is exactly `root`. */
int git_repo_open(const char *root, struct git_repo *ret_repo);

/* Appends the regular file dir/name.  Never blocks on a FIFO of that name.  -ENOENT
 * when it does not exist or is not a regular file, -EFBIG over `max` bytes. */
int git_read_file(const char *dir, const char *name, size_t max,
		  struct str *out);

#endif
