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
 *   look like code (small, without NUL bytes, not ignored).  Its author and
 *   date follow from HEAD, so the same content has the same id.  Branches,
 *   the stash and `git status` show nothing of it.
 * - The command runs meanwhile: only files that `git status` listed go into
 *   the snapshot, with the content they have when they are read.
 * - Inside a submodule only the checked-out commit is looked at.
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

struct git_look;

struct git_facts {
	char *root; /* top folder of the work tree; NULL: no repository */
	char *commit; /* hex id of HEAD; NULL: no commit yet, or not known */
	char *branch; /* "main"; NULL: HEAD is detached */
	char *remote; /* URL of origin, else of the only remote, no secrets */
	char *snapshot; /* hex id; NULL: nothing to keep, or see note */
	char *note; /* one sentence on what could not be learned, or NULL */
	bool checked; /* the fields below were learned */
	bool dirty; /* the tree holds something that the commit does not */
	bool reused; /* the answer of the last look still held; git not run */
	uint32_t n_modified; /* tracked files that differ from the commit */
	uint32_t n_untracked; /* files git neither tracks nor ignores */
	uint32_t n_left_out; /* of both, files that are not in the snapshot */
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
	 * thread; NULL: nothing was. */
	bool (*is_made)(void *ctx, const char *path, size_t len);
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

/* Ends and frees the look, after waiting up to `wait_ms` for its answer; then
 * git is killed, and what was learned until then is delivered with a note.
 * A NULL look gives facts without a root.  Returns 0 or -ENOMEM; the look is
 * gone in any case.  The caller releases the facts. */
int git_look_finish(struct git_look *look, unsigned wait_ms,
		    struct git_facts *ret_facts);

#endif
