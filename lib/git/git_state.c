/* git_state.c - see git.h
 *
 * The query is shared by two holders, its owner and its thread.  Usually the owner
 * joins the thread.  But a thread that hangs in the kernel (a dead file server) must
 * not block the user, so it can be detached: the last holder frees the query. */
#include "git/git.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/str.h"
#include "base/thread.h"
#include "git/git_state_internal.h"

enum { CANCEL_WAIT_MS = 1500 }; /* longer than killing git takes */

static const struct git_limits default_limits = {
	.untracked_bytes = 1 << 20,
	.tracked_bytes = 16 << 20,
	.total_bytes = 64 << 20,
	.n_files = 10000,
	.timeout_ms = 20000,
};

void git_facts_release(struct git_facts *facts)
{
	free(facts->root);
	free(facts->commit);
	free(facts->branch);
	free(facts->remote);
	free(facts->snapshot);
	free(facts->note);
	git_left_outs_release(&facts->left_out);
	*facts = (struct git_facts){ 0 };
}

void git_state_note(struct git_state *state, const char *fmt, ...)
{
	struct str note = STR_INIT;
	va_list ap;

	(void)pthread_mutex_lock(&state->lock);
	if (state->facts.note)
		str_addf(&note, "%s; ", state->facts.note);
	va_start(ap, fmt);
	str_addv(&note, fmt, ap);
	va_end(ap);
	free(state->facts.note);
	state->facts.note = str_take(&note);
	if (!state->facts.note)
		state->error = -ENOMEM;
	(void)pthread_mutex_unlock(&state->lock);
}

static void state_free(struct git_state *state)
{
	git_repo_release(&state->repo);
	git_config_release(&state->config);
	git_head_release(&state->head);
	git_env_release(&state->env);
	git_facts_release(&state->facts);
	free(state->own);
	free(state->cache_path);
	closep(&state->cancel_fd);
	(void)pthread_cond_destroy(&state->changed);
	(void)pthread_mutex_destroy(&state->lock);
	free(state);
}

DEFINE_CLEANUP(struct git_state *, state_free)

/* Lets go of the query; the last holder frees it. */
static void state_unref(struct git_state *state)
{
	int left;

	(void)pthread_mutex_lock(&state->lock);
	left = --state->n_refs;
	(void)pthread_mutex_unlock(&state->lock);
	if (left == 0)
		state_free(state);
}

static int state_new(struct git_state **ret_state)
{
	struct git_state *state = calloc(1, sizeof(*state));
	pthread_condattr_t attr;

	if (!state)
		return -ENOMEM;
	(void)pthread_mutex_init(&state->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&state->changed, &attr);
	(void)pthread_condattr_destroy(&attr);
	state->n_refs = 1;
	state->started_ns = clock_now_ns();
	state->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (state->cancel_fd < 0) {
		int r = -errno;

		state_free(state);
		return r;
	}
	*ret_state = state;
	return 0;
}

static void set_limits(struct git_limits *limits)
{
	const struct git_limits *d = &default_limits;

	if (!limits->untracked_bytes)
		limits->untracked_bytes = d->untracked_bytes;
	if (!limits->tracked_bytes)
		limits->tracked_bytes = d->tracked_bytes;
	if (!limits->total_bytes)
		limits->total_bytes = d->total_bytes;
	if (!limits->n_files)
		limits->n_files = d->n_files;
	if (!limits->timeout_ms)
		limits->timeout_ms = d->timeout_ms;
}

static int absolute(const char *cwd, const char *path, char **ret_path)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	path_normalize(&out, cwd, path);
	*ret_path = str_take(&out);
	return *ret_path ? 0 : -ENOMEM;
}

/* Our own directory, relative to the root, if it is in the tree. */
static int set_own(struct git_state *state, const char *cwd,
		   const char *own_dir)
{
	CLEANUP(str_release) struct str dir = STR_INIT;
	CLEANUP(freep) char *path = NULL;
	const char *own;

	if (!own_dir && !state->cache_path)
		return 0;
	if (own_dir)
		str_adds(&dir, own_dir);
	else
		path_dirname(&dir, state->cache_path);
	if (str_error(&dir) < 0 || absolute(cwd, dir.data, &path) < 0)
		return -ENOMEM;
	own = path_relative(path, state->repo.root);
	if (own[0] == '/' || strcmp(own, ".") == 0)
		return 0;
	state->own = strdup(own);
	return state->own ? 0 : -ENOMEM;
}

static int set_options(struct git_state *state, const char *cwd,
		       const char *cache_path,
		       const struct git_options *options)
{
	int r = 0;

	if (options) {
		state->limits = options->limits;
		state->no_snapshot = options->no_snapshot;
		state->is_made = options->is_made;
		state->ctx = options->ctx;
	}
	set_limits(&state->limits);
	if (cache_path)
		r = absolute(cwd, cache_path, &state->cache_path);
	if (r == 0)
		r = set_own(state, cwd, options ? options->own_dir : NULL);
	return r;
}

static int copy(const char *text, char **ret_copy)
{
	*ret_copy = text ? strdup(text) : NULL;
	return text && !*ret_copy ? -ENOMEM : 0;
}

/* The work tree of a submodule is named in its configuration, and is the one
 * we came from; any other name means that git would look somewhere else. */
static int check_worktree(struct git_state *state)
{
	CLEANUP(freep) char *named = NULL;
	CLEANUP(freep) char *real = NULL;

	if (!state->config.worktree)
		return 0;
	if (absolute(state->repo.git_dir, state->config.worktree, &named) < 0)
		return -ENOMEM;
	if (strcmp(named, state->repo.root) == 0)
		return 0;
	real = realpath(named, NULL);
	state->elsewhere = !real || strcmp(real, state->repo.root) != 0;
	return 0;
}

/* Reads the facts that are in files.  1, 0 when there is no work tree, or a negative
 * errno. */
static int read_basics(struct git_state *state, const char *cwd)
{
	struct git_facts *facts = &state->facts;
	int r;

	r = git_repo_find(cwd, &state->repo);
	if (r <= 0)
		return r;
	r = git_config_read(&state->repo, &state->config);
	if (r < 0)
		return r;
	/* Linked work trees of a bare repository share its setting. */
	if (state->config.bare && !state->config.worktree &&
	    strcmp(state->repo.git_dir, state->repo.common_dir) == 0)
		return 0;
	r = git_head_read(&state->repo, &state->head);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		state->head.foreign = true; /* git may make sense of it */
	if (check_worktree(state) < 0 ||
	    copy(state->repo.root, &facts->root) < 0 ||
	    copy(state->head.commit, &facts->commit) < 0 ||
	    copy(state->head.ref ? git_ref_short(state->head.ref) : NULL,
		 &facts->branch) < 0 ||
	    copy(state->config.remote, &facts->remote) < 0)
		return -ENOMEM;
	return 1;
}

static void *thread_main(void *arg)
{
	struct git_state *state = arg;
	int r = git_state_read(state);

	(void)pthread_mutex_lock(&state->lock);
	if (r < 0)
		state->error = r;
	state->ended = true;
	(void)pthread_cond_broadcast(&state->changed);
	(void)pthread_mutex_unlock(&state->lock);
	state_unref(state);
	return NULL;
}

static int start_thread(struct git_state *state)
{
	int r;

	state->n_refs++;
	r = thread_start(&state->thread, NULL, thread_main, state);
	if (r < 0)
		state->n_refs--;
	return r;
}

static int set_runner(struct git_state *state)
{
	CLEANUP(str_release) struct str home = STR_INIT;

	state->runner = (struct git_runner){
		.root = state->repo.root,
		.env = &state->env,
		.deadline_ns = clock_mono_ns() +
			       state->limits.timeout_ms * INT64_C(1000000),
		.cancel_fd = state->cancel_fd,
	};
	if (!git_owner_find(&state->repo, &state->owner))
		return 0;
	state->runner.owner = &state->owner;
	git_owner_home(&state->owner, &home);
	return home.len ? git_env_set_home(&state->env, home.data) : 0;
}

int git_state_start(const char *cwd, const char *cache_path,
		    const struct git_options *options,
		    struct git_state **ret_state)
{
	CLEANUP(state_freep) struct git_state *state = NULL;
	int r;

	assert(cwd && ret_state);
	r = state_new(&state);
	if (r < 0)
		return r;
	r = read_basics(state, cwd);
	if (r < 0)
		return r;
	if (r == 0) {
		*ret_state = NULL;
		return 0;
	}
	r = set_options(state, cwd, cache_path, options);
	if (r == 0)
		r = git_env_init(&state->env, environ);
	if (r < 0)
		return r;
	r = set_runner(state);
	if (r == 0)
		r = start_thread(state);
	if (r < 0)
		return r;
	*ret_state = TAKE_PTR(state);
	return 0;
}

void git_state_basics(struct git_state *state, struct git_facts *ret_facts)
{
	(void)pthread_mutex_lock(&state->lock);
	*ret_facts = (struct git_facts){
		.root = state->facts.root,
		.commit = state->facts.commit,
		.branch = state->facts.branch,
		.remote = state->facts.remote,
	};
	(void)pthread_mutex_unlock(&state->lock);
}

/* Waits until the thread has ended; false after `wait_ms`.  With the lock. */
static bool wait_ended(struct git_state *state, unsigned wait_ms)
{
	int64_t until_ns = clock_mono_ns() + wait_ms * INT64_C(1000000);
	struct timespec until = {
		.tv_sec = until_ns / 1000000000,
		.tv_nsec = until_ns % 1000000000,
	};

	assert(pthread_mutex_trylock(&state->lock) == EBUSY);
	while (!state->ended)
		if (pthread_cond_timedwait(&state->changed, &state->lock,
					   &until) == ETIMEDOUT)
			break;
	return state->ended;
}

static void cancel(struct git_state *state)
{
	static const uint64_t one = 1;

	atomic_store(&state->cancel, true);
	while (write(state->cancel_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

int git_state_finish(struct git_state *state, unsigned wait_ms,
		     struct git_facts *ret_facts)
{
	struct git_facts facts;
	bool ended;
	int r;

	if (!state) {
		*ret_facts = (struct git_facts){ 0 };
		return 0;
	}
	(void)pthread_mutex_lock(&state->lock);
	ended = wait_ended(state, wait_ms);
	if (!ended) {
		cancel(state);
		ended = wait_ended(state, CANCEL_WAIT_MS);
	}
	(void)pthread_mutex_unlock(&state->lock);
	if (!ended)
		git_state_note(state, "reading the work tree takes too long");

	(void)pthread_mutex_lock(&state->lock);
	facts = state->facts;
	state->facts = (struct git_facts){ 0 };
	r = state->error;
	(void)pthread_mutex_unlock(&state->lock);
	if (ended)
		(void)pthread_join(state->thread, NULL);
	else
		(void)pthread_detach(state->thread);
	state_unref(state);
	if (r < 0) {
		git_facts_release(&facts);
		return r;
	}
	*ret_facts = facts;
	return 0;
}
