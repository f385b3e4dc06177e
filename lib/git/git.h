/* git.h - the state of the git repository that a command runs in.
 *
 * A query answers, for the start of one run: the commit, branch and remote of the work
 * tree, whether the tree differs from that commit, and, if it does, the commit id of a
 * snapshot of the uncommitted code.  The command must not wait for any of it, so a
 * query works on a thread of its own while the command runs:
 *
 *	git_state_start()    finds the repository, reads HEAD and the remote from
 *	                    files (about 50 us), starts the thread
 *	  the thread        1. compares the tree with what the last query saw, by
 *	                       stat alone; if nothing changed, that is the answer
 *	                    2. else runs `git status`, makes the snapshot and
 *	                       saves what it saw for the next query
 *	git_state_finish()   collects the answer, or ends the query
 *
 * What git does, and what it does not:
 *
 *	- The repository is the one found by walking up from the directory.
 *	  GIT_DIR, GIT_WORK_TREE and similar variables are ignored: they may
 *	  point to another repository than the one the command runs in.
 *	- The user's index is neither written nor locked.  No hook, signing
 *	  program, file system monitor or pager runs; nothing asks for a password
 *	  or fetches.  Clean filters of .gitattributes (large file storage, for
 *	  example) do run, as in `git add`; line endings are kept.
 *	- A snapshot is a commit on top of HEAD under refs/roar/<commit id>: the
 *	  index, changed and deleted tracked files, and untracked files that look
 *	  like code (small, without NUL bytes, not ignored, see also
 *	  git_credentials.h and git_packages.h).  Files that are left out are
 *	  listed with the reason.  Author and date follow from HEAD, so the same
 *	  content has the same id.  Branches, the stash and `git status` do not
 *	  show it.
 *	- Under sudo, in the repository of the user who ran sudo, git runs as
 *	  that user (git_owner.h): no object there becomes root's.
 *	- The command runs meanwhile: only files that `git status` listed go into
 *	  the snapshot, with the content they have when they are read.
 *	- Inside a submodule only the checked-out commit is examined: a tree that
 *	  is clean except for the content of its submodules is neither clean nor
 *	  dirty.
 *
 * Threads: a query belongs to the thread that started it; different queries are
 * independent.  Its own thread blocks all signals and is the parent of the git
 * processes.  So code that waits for any child (waitpid(-1)) must use __WNOTHREAD, or
 * it takes the exit status of git.  Forking is safe; the child must not use the query. */
#ifndef ROAR_GIT_GIT_H
#define ROAR_GIT_GIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tri.h"
#include "git/git_left_out.h"

struct git_state;
struct str;

struct git_facts {
	char *root; /* top directory of the work tree; NULL: no repository */
	char *commit; /* hex id of HEAD; NULL: no commit yet, or unknown */
	char *branch; /* "main"; NULL: HEAD is detached */
	char *remote; /* URL of origin, else of the only remote, no secrets */
	char *snapshot; /* hex id; NULL: nothing to keep, or see note */
	char *note; /* one sentence on what could not be read, or NULL */
	/* Does the tree differ from the commit?  Python's __pycache__ does not count. */
	enum tri dirty;
	bool checked; /* the fields below are set */
	bool reused; /* the answer of the last query was still valid; git not
		      * run */
	uint32_t n_modified; /* tracked files that differ from the commit */
	uint32_t n_untracked; /* files that git neither tracks nor ignores; a
			       * directory of installed packages counts as one */
	struct git_left_outs left_out; /* of both, the files that are not in the
				        * snapshot */
};

void git_facts_release(struct git_facts *facts);

/* Zero stands for the default in brackets. */
struct git_limits {
	uint64_t untracked_bytes; /* of one untracked file [1 MiB] */
	uint64_t tracked_bytes; /* of one changed tracked file [16 MiB] */
	uint64_t total_bytes; /* of all files in a snapshot [64 MiB] */
	uint32_t n_files; /* in a snapshot [10,000] */
	uint32_t timeout_ms; /* for the whole query [20,000] */
};

struct git_options {
	/* Directory of roar's own files, which are not part of the tree.  NULL: the
	 * directory of the cache file, if that is in the tree. */
	const char *own_dir;
	bool no_snapshot; /* find out whether the tree is dirty, but keep
			   * nothing */
	/* Did the command itself make this file (absolute path)?  Then it is not part
	 * of the tree the command started from.  Called on the query's thread, which
	 * may wait for the answer if the file is `young`: as young as the query, so
	 * that its event may not have arrived yet.  NULL: it made none. */
	bool (*is_made)(void *ctx, const char *path, size_t len, bool young);
	void *ctx;
	struct git_limits limits;
};

/* Starts a query at the repository that holds `cwd`, an absolute path as getcwd()
 * returns it.  `cache_path` is the file in which queries save what they saw (mode 0600;
 * its directory must exist); NULL saves nothing.  `options` may be NULL.  Everything is
 * copied.  Sets *ret_state to NULL when `cwd` is not in a repository, or in a bare one.
 * -EINVAL for a relative `cwd`, -ENOMEM, or the error of thread creation. */
int git_state_start(const char *cwd, const char *cache_path,
		    const struct git_options *options,
		    struct git_state **ret_state);

/* The facts that are known when the query has started: root, commit, branch and remote.
 * The query owns the strings, which are valid until it is finished. */
void git_state_basics(struct git_state *state, struct git_facts *ret_facts);

/* Ends and frees the query, after waiting up to `wait_ms` for its answer.  After that,
 * git is killed, and the facts found so far are returned with a note.  A NULL query
 * gives facts without a root.  Returns 0 or -ENOMEM; the query is freed in any case.
 * The caller releases the facts. */
int git_state_finish(struct git_state *state, unsigned wait_ms,
		     struct git_facts *ret_facts);

/* Finds the files, given relative to the top of the work tree `root`, that git neither
 * tracks nor ignores.  Moves them to the front of `paths` and returns their number;
 * only the first GIT_UNTRACKED_MAX are checked.  Runs git (milliseconds).  Negative
 * when git failed. */
enum { GIT_UNTRACKED_MAX = 8 };
int git_untracked_find(const char *root, const char *paths[], size_t n);

/* Gives to `take` how the commit `id` (hex), such as a snapshot, of the work tree `root`
 * differs from its parent, as a patch; a negative return of `take` ends git and is returned.
 * 0; the positive exit status of git, with its message in `errors`; -EINVAL: not an id;
 * -ENOENT: `root` is not a work tree; -ENOPKG: git is not installed. */
int git_diff_read(const char *root, const char *id, bool color,
		  int (*take)(void *ctx, const char *data, size_t len),
		  void *ctx, struct str *errors);

#endif
