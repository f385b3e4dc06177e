/* git.h - what git knows about the folder a command runs in.
 *
 * A query answers, for the start of one run: which commit, branch and remote
 * the work tree belongs to, whether it differs from that commit, and, when it
 * does, under which commit id a snapshot of the uncommitted code was kept.
 * The command must not wait for any of it, so a query works on a thread of its
 * own while the command runs:
 *
 *	git_state_start()    finds the repository, reads HEAD and the remote from
 *	                    files (about 50 us), starts the thread
 *	  the thread        1. compares the tree with what the last query saw, by
 *	                       stat alone; if nothing changed, that is the answer
 *	                    2. else asks `git status`, makes the snapshot and
 *	                       remembers what it saw for the next query
 *	git_state_finish()   collects the answer, or ends the query
 *
 * What git is asked, and what is left alone:
 *
 * - The repository is the one found by walking up from the folder.  GIT_DIR,
 *   GIT_WORK_TREE and their kin in the environment are not honoured: they may
 *   point to another repository than the one the command runs in.
 * - The user's index is neither written nor locked, no hook, signing program,
 *   file system monitor or pager runs, nothing asks for a password or fetches.
 *   Clean filters named in .gitattributes (large file storage, say) do run,
 *   as they would in `git add`; line endings are kept as they are.
 * - A snapshot is a commit on top of HEAD under refs/roar/<commit id>: the
 *   index, plus changed and deleted tracked files, plus untracked files that
 *   look like code (small, without NUL bytes, not ignored, see also
 *   git_credentials.h and git_packages.h).  What is left out is listed with the reason.
 *   Its author and date follow from HEAD, so the same content has the same id.
 *   Branches, the stash and `git status` show nothing of it.
 * - Under sudo, in the repository of whoever typed it, all of it happens in that
 *   user's name (git_owner.h): no object of theirs becomes root's.
 * - The command runs meanwhile: only files that `git status` listed go into
 *   the snapshot, with the content they have when they are read.
 * - Inside a submodule only the checked-out commit is looked at: a tree that is
 *   clean but for what its submodules may hold is neither clean nor dirty.
 *
 * Threads: a query belongs to the thread that started it; different queries are
 * independent.  Its own thread blocks all signals and is the parent of the git
 * processes, so whoever waits for any child (waitpid(-1)) must do it with
 * __WNOTHREAD, or it takes the exit status of git.  Forking is safe; the child
 * must not touch the query. */
#ifndef ROAR_GIT_GIT_H
#define ROAR_GIT_GIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tri.h"
#include "git/git_left_out.h"

struct git_state;

struct git_facts {
	char *root; /* top folder of the work tree; NULL: no repository */
	char *commit; /* hex id of HEAD; NULL: no commit yet, or not known */
	char *branch; /* "main"; NULL: HEAD is detached */
	char *remote; /* URL of origin, else of the only remote, no secrets */
	char *snapshot; /* hex id; NULL: nothing to keep, or see note */
	char *note; /* one sentence on what could not be learned, or NULL */
	/* Does the tree hold something that the commit does not?  Python's
	 * __pycache__ is no such thing. */
	enum tri dirty;
	bool checked; /* the fields below were learned */
	bool reused; /* the answer of the last query still held; git not run */
	uint32_t n_modified; /* tracked files that differ from the commit */
	uint32_t n_untracked; /* files git neither tracks nor ignores; a folder
			       * of installed packages is one */
	struct git_left_outs left_out; /* of both, what is in no snapshot */
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
	/* Folder of roar's own files, which are no part of the tree.  NULL
	 * stands for the folder of the cache file, if that lies in the tree. */
	const char *own_dir;
	bool no_snapshot; /* learn whether the tree is dirty, keep nothing */
	/* Has the command itself made this file (absolute path)?  Then it is no
	 * part of the tree the command started from.  Asked on the query's
	 * thread, which may wait for the answer if the file is `young`: as young
	 * as the query, so that word of it may still be on its way.  NULL: nothing
	 * was. */
	bool (*is_made)(void *ctx, const char *path, size_t len, bool young);
	void *ctx;
	struct git_limits limits;
};

/* Starts a query at the repository that holds `cwd`, an absolute path as
 * getcwd() gives it.  `cache_path` is the file in which queries remember what
 * they saw (mode 0600; its folder must exist); NULL remembers nothing.
 * `options` may be NULL.  Everything is copied.  Sets *ret_state to NULL when
 * `cwd` is in no repository, or in a bare one.  Fails with -EINVAL for a
 * relative `cwd`, -ENOMEM, or what thread creation says. */
int git_state_start(const char *cwd, const char *cache_path,
		    const struct git_options *options,
		    struct git_state **ret_state);

/* What was known as soon as the query had begun: root, commit, branch and remote.  The
 * strings are the query's and stay until it is finished. */
void git_state_basics(struct git_state *state, struct git_facts *ret_facts);

/* Ends and frees the query, after waiting up to `wait_ms` for its answer; then
 * git is killed, and what was learned until then is delivered with a note.
 * A NULL query gives facts without a root.  Returns 0 or -ENOMEM; the query is
 * gone in any case.  The caller releases the facts. */
int git_state_finish(struct git_state *state, unsigned wait_ms,
		     struct git_facts *ret_facts);

/* Which of these files, given relative to the top of the work tree `root`, does git
 * neither track nor ignore?  Moves them to the front of `paths` and returns how many
 * they are; only the first GIT_UNTRACKED_MAX are looked at.  Runs git (milliseconds).
 * Negative when git could not be asked. */
enum { GIT_UNTRACKED_MAX = 8 };
int git_untracked_find(const char *root, const char *paths[], size_t n);

#endif
