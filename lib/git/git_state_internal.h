/* git_state_internal.h - one query, as its own files see it.
 *
 * git_state.c starts and ends it, git_state_read.c does the work on the query's thread,
 * git_memory.c decides whether the last query's result is still valid. */
#ifndef ROAR_GIT_STATE_INTERNAL_H
#define ROAR_GIT_STATE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "git/git.h"
#include "git/git_child.h"
#include "git/git_config.h"
#include "git/git_env.h"
#include "git/git_head.h"
#include "git/git_owner.h"
#include "git/git_repo.h"
#include "git/git_watch.h"

struct git_snapshot;
struct git_status;
struct git_tree;

struct git_state {
	/* Set by the owner before the thread starts; then only the thread uses them. */
	struct git_repo repo;
	struct git_config config;
	struct git_head head;
	struct git_env env;
	struct git_limits limits; /* without zeros */
	struct git_owner owner; /* when the runner has one */
	struct git_runner runner;
	bool no_snapshot;
	bool (*is_made)(void *ctx, const char *path, size_t len, bool young);
	void *ctx;
	bool elsewhere; /* core.worktree names another directory */
	char *own; /* relative to the root, or NULL */
	char *cache_path; /* absolute, or NULL */
	int64_t started_ns; /* since 1970 */

	/* Stops the thread.  Written by the owner, without the lock: the flag is for
	 * loops, the eventfd for poll(). */
	atomic_bool cancel;
	int cancel_fd;

	pthread_t thread;
	pthread_mutex_t lock; /* Protects the fields below, between the owner
			       * and the thread.  The only lock of a query; not
			       * held while git runs or files are read. */
	pthread_cond_t changed; /* with `lock`: `ended` became true */
	bool ended;
	int n_refs; /* holders: the thread and the owner; the last one frees */
	int error; /* -ENOMEM when the thread ran out of memory */
	struct git_facts facts;
};

/* --- git_state.c: results of the thread ------------------------------------------- */

/* Adds a clause to the note of the facts.  Takes the lock. */
void git_state_note(struct git_state *state, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* --- git_state_read.c --------------------------------------------------------------- */

/* Collects all facts, on the thread.  0 or -ENOMEM; every other error is a note. */
int git_state_read(struct git_state *state);

/* --- git_memory.c ------------------------------------------------------------- */

/* Takes the result of the last query if nothing changed since: 1.  0 when git must run,
 * -ENOMEM. */
int git_memory_recall(struct git_state *state, struct git_tree *tree);

/* Saves the result of this query, which is in its facts.  `watches` holds the tracked
 * files that stat alone could not prove unchanged, and gets more.  Returns 0, 1 when
 * the tree changed too recently to save anything, or a negative errno; none of them
 * needs a note. */
int git_memory_keep(struct git_state *state, const struct git_tree *tree,
		    struct git_status *status, struct git_watches *watches);

#endif
