/* git_state_internal.h - one query, as its own files see it.
 *
 * git_state.c starts and ends it, git_state_read.c does the work on the query's thread,
 * git_memory.c decides whether the last query's result still holds. */
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
	/* Set before the thread starts, then the thread's alone. */
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
	bool elsewhere; /* core.worktree names another folder */
	char *own; /* relative to the root, or NULL */
	char *cache_path; /* absolute, or NULL */
	int64_t started_ns; /* since 1970 */

	/* Says "stop" to the thread: the flag to its loops, the descriptor to
	 * whatever it polls. */
	atomic_bool cancel;
	int cancel_fd;

	pthread_t thread;
	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t changed; /* `ended` became true */
	bool ended;
	int n_refs; /* the thread and the owner */
	int error; /* -ENOMEM when memory ran out on the thread */
	struct git_facts facts;
};

/* --- git_state.c: what the thread tells ---------------------------------------- */

/* Adds a clause to the note of the facts. */
void git_state_note(struct git_state *state, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* --- git_state_read.c --------------------------------------------------------------- */

/* Learns all there is to learn.  0 or -ENOMEM; everything else is a note. */
int git_state_read(struct git_state *state);

/* --- git_memory.c ------------------------------------------------------------- */

/* Takes over the result of the last query if nothing changed since: 1.  0 when
 * git has to be asked, -ENOMEM. */
int git_memory_recall(struct git_state *state, struct git_tree *tree);

/* Writes down the result of this query, which is in its facts.  `watches` holds
 * the tracked files that stat could not vouch for, and gets more.  Returns 0,
 * 1 when the tree changed too recently to remember anything, or a negative
 * errno; none of them is worth a note. */
int git_memory_keep(struct git_state *state, const struct git_tree *tree,
		    struct git_status *status, struct git_watches *watches);

#endif
