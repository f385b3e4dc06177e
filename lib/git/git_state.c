/* look.c - see git.h
 *
 * The look is shared by two holders, its owner and its thread.  Usually the
 * owner joins the thread; but a thread that hangs in the kernel (a dead file
 * server) must not hang the user, so it can be left behind: whoever lets go
 * last frees the look. */
#include "git/git.h"

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

void git_look_note(struct git_look *look, const char *fmt, ...)
{
	struct str note = STR_INIT;
	va_list ap;

	(void)pthread_mutex_lock(&look->lock);
	if (look->facts.note)
		str_addf(&note, "%s; ", look->facts.note);
	va_start(ap, fmt);
	str_addv(&note, fmt, ap);
	va_end(ap);
	free(look->facts.note);
	look->facts.note = str_take(&note);
	if (!look->facts.note)
		look->error = -ENOMEM;
	(void)pthread_mutex_unlock(&look->lock);
}

static void look_free(struct git_look *look)
{
	git_repo_release(&look->repo);
	git_config_release(&look->config);
	git_head_release(&look->head);
	git_env_release(&look->env);
	git_facts_release(&look->facts);
	free(look->own);
	free(look->cache_path);
	closep(&look->cancel_fd);
	(void)pthread_cond_destroy(&look->changed);
	(void)pthread_mutex_destroy(&look->lock);
	free(look);
}

DEFINE_CLEANUP(struct git_look *, look_free)

/* Lets go of the look; the last holder frees it. */
static void look_unref(struct git_look *look)
{
	int left;

	(void)pthread_mutex_lock(&look->lock);
	left = --look->n_refs;
	(void)pthread_mutex_unlock(&look->lock);
	if (left == 0)
		look_free(look);
}

static int look_new(struct git_look **ret_look)
{
	struct git_look *look = calloc(1, sizeof(*look));
	pthread_condattr_t attr;

	if (!look)
		return -ENOMEM;
	(void)pthread_mutex_init(&look->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&look->changed, &attr);
	(void)pthread_condattr_destroy(&attr);
	look->n_refs = 1;
	look->started_ns = clock_now_ns();
	look->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (look->cancel_fd < 0) {
		int r = -errno;

		look_free(look);
		return r;
	}
	*ret_look = look;
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

/* Our own folder, relative to the root, if it lies in the tree. */
static int set_own(struct git_look *look, const char *cwd, const char *own_dir)
{
	CLEANUP(str_release) struct str dir = STR_INIT;
	CLEANUP(freep) char *path = NULL;
	const char *own;

	if (!own_dir && !look->cache_path)
		return 0;
	if (own_dir)
		str_adds(&dir, own_dir);
	else
		path_dirname(&dir, look->cache_path);
	if (str_error(&dir) < 0 || absolute(cwd, dir.data, &path) < 0)
		return -ENOMEM;
	own = path_relative(path, look->repo.root);
	if (own[0] == '/' || strcmp(own, ".") == 0)
		return 0;
	look->own = strdup(own);
	return look->own ? 0 : -ENOMEM;
}

static int set_options(struct git_look *look, const char *cwd,
		       const char *cache_path,
		       const struct git_options *options)
{
	int r = 0;

	if (options) {
		look->limits = options->limits;
		look->no_snapshot = options->no_snapshot;
		look->is_made = options->is_made;
		look->ctx = options->ctx;
	}
	set_limits(&look->limits);
	if (cache_path)
		r = absolute(cwd, cache_path, &look->cache_path);
	if (r == 0)
		r = set_own(look, cwd, options ? options->own_dir : NULL);
	return r;
}

static int copy(const char *text, char **ret_copy)
{
	*ret_copy = text ? strdup(text) : NULL;
	return text && !*ret_copy ? -ENOMEM : 0;
}

/* The work tree of a submodule is named in its configuration, and is the one
 * we came from; any other name means that git would look somewhere else. */
static int check_worktree(struct git_look *look)
{
	CLEANUP(freep) char *named = NULL;
	CLEANUP(freep) char *real = NULL;

	if (!look->config.worktree)
		return 0;
	if (absolute(look->repo.git_dir, look->config.worktree, &named) < 0)
		return -ENOMEM;
	if (strcmp(named, look->repo.root) == 0)
		return 0;
	real = realpath(named, NULL);
	look->elsewhere = !real || strcmp(real, look->repo.root) != 0;
	return 0;
}

/* Reads what files tell at once.  1, 0 when there is no work tree, or a
 * negative errno. */
static int read_basics(struct git_look *look, const char *cwd)
{
	struct git_facts *facts = &look->facts;
	int r;

	r = git_repo_find(cwd, &look->repo);
	if (r <= 0)
		return r;
	r = git_config_read(&look->repo, &look->config);
	if (r < 0)
		return r;
	/* Linked work trees of a bare repository share its setting. */
	if (look->config.bare && !look->config.worktree &&
	    strcmp(look->repo.git_dir, look->repo.common_dir) == 0)
		return 0;
	r = git_head_read(&look->repo, &look->head);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		look->head.foreign = true; /* git may make sense of it */
	if (check_worktree(look) < 0 ||
	    copy(look->repo.root, &facts->root) < 0 ||
	    copy(look->head.commit, &facts->commit) < 0 ||
	    copy(look->head.ref ? git_ref_short(look->head.ref) : NULL,
		 &facts->branch) < 0 ||
	    copy(look->config.remote, &facts->remote) < 0)
		return -ENOMEM;
	return 1;
}

static void *thread_main(void *arg)
{
	struct git_look *look = arg;
	int r = git_answer(look);

	(void)pthread_mutex_lock(&look->lock);
	if (r < 0)
		look->error = r;
	look->ended = true;
	(void)pthread_cond_broadcast(&look->changed);
	(void)pthread_mutex_unlock(&look->lock);
	look_unref(look);
	return NULL;
}

static int start_thread(struct git_look *look)
{
	int r;

	look->n_refs++;
	r = thread_start(&look->thread, NULL, thread_main, look);
	if (r < 0)
		look->n_refs--;
	return r;
}

static int set_runner(struct git_look *look)
{
	CLEANUP(str_release) struct str home = STR_INIT;

	look->runner = (struct git_runner){
		.root = look->repo.root,
		.env = &look->env,
		.deadline_ns = clock_mono_ns() +
			       look->limits.timeout_ms * INT64_C(1000000),
		.cancel_fd = look->cancel_fd,
	};
	if (!git_owner_find(&look->repo, &look->owner))
		return 0;
	look->runner.owner = &look->owner;
	git_owner_home(&look->owner, &home);
	return home.len ? git_env_set_home(&look->env, home.data) : 0;
}

int git_look_start(const char *cwd, const char *cache_path,
		   const struct git_options *options,
		   struct git_look **ret_look)
{
	CLEANUP(look_freep) struct git_look *look = NULL;
	int r;

	r = look_new(&look);
	if (r < 0)
		return r;
	r = read_basics(look, cwd);
	if (r < 0)
		return r;
	if (r == 0) {
		*ret_look = NULL;
		return 0;
	}
	r = set_options(look, cwd, cache_path, options);
	if (r == 0)
		r = git_env_init(&look->env, environ);
	if (r < 0)
		return r;
	r = set_runner(look);
	if (r == 0)
		r = start_thread(look);
	if (r < 0)
		return r;
	*ret_look = TAKE_PTR(look);
	return 0;
}

void git_look_basics(struct git_look *look, struct git_facts *ret_facts)
{
	(void)pthread_mutex_lock(&look->lock);
	*ret_facts = (struct git_facts){
		.root = look->facts.root,
		.commit = look->facts.commit,
		.branch = look->facts.branch,
		.remote = look->facts.remote,
	};
	(void)pthread_mutex_unlock(&look->lock);
}

/* Waits until the thread has ended; false after `wait_ms`.  With the lock. */
static bool wait_ended(struct git_look *look, unsigned wait_ms)
{
	int64_t until_ns = clock_mono_ns() + wait_ms * INT64_C(1000000);
	struct timespec until = {
		.tv_sec = until_ns / 1000000000,
		.tv_nsec = until_ns % 1000000000,
	};

	while (!look->ended)
		if (pthread_cond_timedwait(&look->changed, &look->lock,
					   &until) == ETIMEDOUT)
			break;
	return look->ended;
}

static void cancel(struct git_look *look)
{
	static const uint64_t one = 1;

	atomic_store(&look->cancel, true);
	while (write(look->cancel_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

int git_look_finish(struct git_look *look, unsigned wait_ms,
		    struct git_facts *ret_facts)
{
	struct git_facts facts;
	bool ended;
	int r;

	if (!look) {
		*ret_facts = (struct git_facts){ 0 };
		return 0;
	}
	(void)pthread_mutex_lock(&look->lock);
	ended = wait_ended(look, wait_ms);
	if (!ended) {
		cancel(look);
		ended = wait_ended(look, CANCEL_WAIT_MS);
	}
	(void)pthread_mutex_unlock(&look->lock);
	if (!ended)
		git_look_note(look, "the look at the work tree hangs");

	(void)pthread_mutex_lock(&look->lock);
	facts = look->facts;
	look->facts = (struct git_facts){ 0 };
	r = look->error;
	(void)pthread_mutex_unlock(&look->lock);
	if (ended)
		(void)pthread_join(look->thread, NULL);
	else
		(void)pthread_detach(look->thread);
	look_unref(look);
	if (r < 0) {
		git_facts_release(&facts);
		return r;
	}
	*ret_facts = facts;
	return 0;
}
