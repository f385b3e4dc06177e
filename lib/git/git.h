/* git.h - what git knows about the folder a command runs in.
 *
 * A look answers, for the start of one run: which commit, branch and remote
 * the work tree belongs to, whether it differs from that commit, and, when it
 * does, under which commit id a snapshot of the uncommitted code was kept.
 * The command must not wait for any of it, so a look works on a thread of its
 * own while the command runs:
 *
 *	git_look_start()    finds the repository, reads HEAD and the remote from
 *	                    files (about 50 us), starts the thread
 *	  the thread        1. compares the tree with what the last look saw, by
 *	                       stat alone; if nothing changed, that is the answer
 *	                    2. else asks `git status`, makes the snapshot and
 *	                       remembers what it saw for the next look
 *	git_look_finish()   collects the answer, or ends the look
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
 *   credentials.h and packages.h).  What is left out is listed with the reason.
 *   Its author and date follow from HEAD, so the same content has the same id.
 *   Branches, the stash and `git status` show nothing of it.
 * - Under sudo, in the repository of whoever typed it, all of it happens in that
 *   user's name (owner.h): no object of theirs becomes root's.
 * - The command runs meanwhile: only files that `git status` listed go into
 *   the snapshot, with the content they have when they are read.
 * - Inside a submodule only the checked-out commit is looked at: a tree that is
 *   clean but for what its submodules may hold is neither clean nor dirty.
 *
 * Threads: a look belongs to the thread that started it; different looks are
 * independent.  Its own thread blocks all signals and is the parent of the git
 * processes, so whoever waits for any child (waitpid(-1)) must do it with
 * __WNOTHREAD, or it takes the exit status of git.  Forking is safe; the child
 * must not touch the look. */
#ifndef ROAR_GIT_GIT_H
#define ROAR_GIT_GIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tri.h"
#include "git/git_left_out.h"

struct git_look;

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
	bool reused; /* the answer of the last look still held; git not run */
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
	uint32_t timeout_ms; /* for the whole look [20,000] */
};

struct git_options {
	/* Folder of roar's own files, which are no part of the tree.  NULL
	 * stands for the folder of the cache file, if that lies in the tree. */
	const char *own_dir;
	bool no_snapshot; /* learn whether the tree is dirty, keep nothing */
	/* Has the command itself made this file (absolute path)?  Then it is no
	 * part of the tree the command started from.  Asked on the look's
	 * thread, which may wait for the answer if the file is `young`: as young
	 * as the look, so that word of it may still be on its way.  NULL: nothing
	 * was. */
	bool (*is_made)(void *ctx, const char *path, size_t len, bool young);
	void *ctx;
	struct git_limits limits;
};

/* Starts a look at the repository that holds `cwd`, an absolute path as
 * getcwd() gives it.  `cache_path` is the file in which looks remember what
 * they saw (mode 0600; its folder must exist); NULL remembers nothing.
 * `options` may be NULL.  Everything is copied.  Sets *ret_look to NULL when
 * `cwd` is in no repository, or in a bare one.  Fails with -EINVAL for a
 * relative `cwd`, -ENOMEM, or what thread creation says. */
int git_look_start(const char *cwd, const char *cache_path,
		   const struct git_options *options,
		   struct git_look **ret_look);

/* What was known as soon as the look had begun: root, commit, branch and remote.  The
 * strings are the look's and stay until it is finished. */
void git_look_basics(struct git_look *look, struct git_facts *ret_facts);

/* Ends and frees the look, after waiting up to `wait_ms` for its answer; then
 * git is killed, and what was learned until then is delivered with a note.
 * A NULL look gives facts without a root.  Returns 0 or -ENOMEM; the look is
 * gone in any case.  The caller releases the facts. */
int git_look_finish(struct git_look *look, unsigned wait_ms,
		    struct git_facts *ret_facts);

/* Which of these files, given relative to the top of the work tree `root`, does git
 * neither track nor ignore?  Moves them to the front of `paths` and returns how many
 * they are; only the first GIT_UNKNOWN_MAX are looked at.  Runs git (milliseconds).
 * Negative when git could not be asked. */
enum { GIT_UNKNOWN_MAX = 8 };
int git_find_unknown(const char *root, const char *paths[], size_t n);

#endif
