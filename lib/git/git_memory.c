/* git_memory.c - does the answer of the last query still hold?
 *
 * `git status` depends on HEAD, the index, the content of the tree, and on the
 * configuration and ignore lists.  So does the memory:
 *
 *	HEAD           its ref and commit are compared
 *	index          its stamp
 *	tracked files  stat data in the index, see git_tree.h; those for which that
 *	               proves nothing are watched
 *	new files      all directories that git would search are watched
 *	changed files  watched, so a snapshot is reused only for the same content
 *	configuration  all files that git read it from, and those it would read
 *	               if they appeared, are watched; the variables that lead to
 *	               them, the options of the query and the user are hashed
 *
 * A memory is written only when everything in it is older than the query; a
 * change made while git was looking can therefore not hide. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/path.h"
#include "base/str.h"
#include "git/git_cache.h"
#include "git/git_index.h"
#include "git/git_state_internal.h"
#include "git/git_status.h"
#include "git/git_tree.h"
#include "git/git_walk.h"

enum { CONFIG_OUTPUT_MAX = 4 << 20 };

static uint64_t hash_text(uint64_t hash, const char *text)
{
	return git_hash_add(hash, text ? text : "",
			    text ? strlen(text) + 1 : 1);
}

/* What the answer depends on besides files. */
static uint64_t context_of(const struct git_state *state)
{
	const struct git_limits *l = &state->limits;
	const uint64_t numbers[] = { l->untracked_bytes, l->tracked_bytes,
				     l->total_bytes,	 l->n_files,
				     state->no_snapshot, geteuid() };
	uint64_t hash = state->env.hash;

	hash = git_hash_add(hash, numbers, sizeof(numbers));
	hash = hash_text(hash, state->repo.root);
	hash = hash_text(hash, state->repo.git_dir);
	return hash_text(hash, state->own);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* --- recall --------------------------------------------------------------- */

static int is_watched(void *ctx, const struct git_index_entry *entry,
		      const struct stamp *now)
{
	const struct git_watches *watches = ctx;

	(void)now; /* all watches were compared already */
	if (entry->mode == GIT_MODE_GITLINK)
		return 1;
	return !git_watch_has(watches, entry->path, entry->path_len);
}

/* The user may have deleted the ref, and git collected the objects. */
static bool snapshot_exists(const struct git_state *state, const char *id)
{
	char ref[GIT_HEX_MAX + 16], hex[GIT_HEX_MAX + 1];

	if (!id)
		return true;
	if (!git_hex_valid(id, strlen(id)))
		return false;
	(void)snprintf(ref, sizeof(ref), "refs/roar/%s", id);
	return git_ref_read(&state->repo, ref, hex) == 1 &&
	       strcmp(hex, id) == 0;
}

static bool cache_holds(const struct git_state *state, struct git_tree *tree,
			struct git_cache *cache)
{
	return cache->context == context_of(state) &&
	       same_text(cache->ref, state->head.ref) &&
	       same_text(cache->commit, state->head.commit) &&
	       stamp_equal(&cache->index, &tree->index_stamp) &&
	       snapshot_exists(state, cache->snapshot) &&
	       git_watches_hold(&cache->watches, tree->root_fd,
				&state->cancel) &&
	       git_tree_scan(tree, &state->cancel, is_watched,
			     &cache->watches) == 0;
}

static void publish(struct git_state *state, struct git_cache *cache)
{
	struct git_facts *facts = &state->facts;

	(void)pthread_mutex_lock(&state->lock);
	facts->checked = true;
	facts->reused = true;
	facts->dirty = cache->dirty;
	facts->n_modified = cache->n_modified;
	facts->n_untracked = cache->n_untracked;
	facts->left_out = cache->left_out;
	cache->left_out = (struct git_left_outs){ 0 };
	facts->snapshot = TAKE_PTR(cache->snapshot);
	(void)pthread_mutex_unlock(&state->lock);
	if (cache->note)
		git_state_note(state, "%s", cache->note);
}

int git_memory_recall(struct git_state *state, struct git_tree *tree)
{
	CLEANUP(git_cache_release) struct git_cache cache = { 0 };
	int r;

	if (!state->cache_path || state->head.foreign)
		return 0;
	r = git_cache_load(state->cache_path, &cache);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (!cache_holds(state, tree, &cache))
		return 0;
	publish(state, &cache);
	return 1;
}

/* --- configuration -------------------------------------------------------- */

struct origins {
	const struct git_state *state;
	const struct git_tree *tree;
	struct git_watches *watches;
};

static int watch(const struct origins *o, const char *path)
{
	return git_watch_add(o->watches, o->tree->root_fd, path, strlen(path));
}

/* Watches dir/name; nothing when `dir` is NULL. */
static int watch_in(const struct origins *o, const char *dir, const char *name)
{
	CLEANUP(str_release) struct str path = STR_INIT;

	if (!dir)
		return 0;
	str_addf(&path, "%s/%s", dir, name);
	return str_error(&path) < 0 ? -ENOMEM : watch(o, path.data);
}

/* A file named by a setting: absolute, "~/..." or relative to the root. */
static int watch_named(const struct origins *o, const char *value)
{
	if (value[0] != '~')
		return value[0] ? watch(o, value) : 0;
	if (value[1] != '/')
		return -EOPNOTSUPP; /* another user's home */
	return watch_in(o, git_env_get(&o->state->env, "HOME"), value + 2);
}

/* One setting in the output of `git config --list --show-origin -z`. */
static int take_setting(const struct origins *o, const char *origin,
			const char *setting)
{
	static const char *const names[] = { "core.excludesfile\n",
					     "core.attributesfile\n" };
	int r = 0;

	if (strncmp(origin, "file:", 5) == 0)
		r = watch(o, origin + 5);
	for (size_t i = 0; i < 2 && r == 0; i++)
		if (strncmp(setting, names[i], strlen(names[i])) == 0)
			r = watch_named(o, setting + strlen(names[i]));
	return r;
}

static int take_output(void *ctx, const char *data, size_t len)
{
	struct str *text = ctx;

	if (len > CONFIG_OUTPUT_MAX - text->len)
		return -EFBIG;
	str_add(text, data, len);
	return str_error(text);
}

/* Watches the files from which git has its settings, includes too. */
static int watch_origins(const struct origins *o)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	const struct git_command command = {
		.args = { "config", "--list", "--show-origin", "-z", NULL },
		.take = take_output,
		.ctx = &text,
	};
	const char *p, *end;
	int r;

	r = git_run(&o->state->runner, &command, NULL);
	if (r != 0)
		return r < 0 ? r : -EIO;
	p = str_cstr(&text);
	end = p + text.len;
	while (p < end && r == 0) {
		const char *setting = p + strlen(p) + 1;

		if (setting >= end)
			return -EBADMSG;
		r = take_setting(o, p, setting);
		p = setting + strlen(setting) + 1;
	}
	return r;
}

/* Watches the places where git would find more if something appeared there. */
static int watch_places(const struct origins *o)
{
	const struct git_env *env = &o->state->env;
	const struct git_repo *repo = &o->state->repo;
	const char *home = git_env_get(env, "HOME");
	const char *xdg = git_env_get(env, "XDG_CONFIG_HOME");
	const char *global = git_env_get(env, "GIT_CONFIG_GLOBAL");
	const char *system = git_env_get(env, "GIT_CONFIG_SYSTEM");
	const char *user_dir = xdg ? xdg : home;
	const struct {
		const char *dir;
		const char *name;
	} places[] = {
		{ repo->common_dir, "config" },
		{ repo->common_dir, "info/exclude" },
		{ repo->common_dir, "info/attributes" },
		{ repo->git_dir, "config.worktree" },
		{ repo->git_dir, "info/sparse-checkout" },
		{ home, ".gitconfig" },
		{ user_dir, xdg ? "git/config" : ".config/git/config" },
		{ user_dir, xdg ? "git/ignore" : ".config/git/ignore" },
		{ user_dir, xdg ? "git/attributes" : ".config/git/attributes" },
		{ "/etc", "gitconfig" },
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(places) && r == 0; i++)
		r = watch_in(o, places[i].dir, places[i].name);
	if (r == 0 && global)
		r = watch(o, global);
	if (r == 0 && system)
		r = watch(o, system);
	return r;
}

/* --- keep ----------------------------------------------------------------- */

static int watch_changes(const struct origins *o,
			 const struct git_status *status)
{
	for (size_t i = 0; i < status->n_changes; i++) {
		const struct git_change *change = &status->changes[i];
		struct stamp now = git_stamp_at(o->tree->root_fd, change->path);
		int r;

		if (!stamp_exists(&now) && !change->deleted)
			return 1; /* deleted since git saw it */
		r = git_watch_put(o->watches, change->path, change->len, &now);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Are HEAD and index still those the query began with, and old enough? */
static bool is_settled(const struct git_state *state,
		       const struct git_tree *tree,
		       const struct git_watches *watches)
{
	CLEANUP(git_head_release) struct git_head head = { 0 };
	CLEANUP(str_release) struct str path = STR_INIT;
	struct stamp index;

	str_addf(&path, "%s/index", state->repo.git_dir);
	if (str_error(&path) < 0 || git_head_read(&state->repo, &head) < 0)
		return false;
	index = git_stamp_at(AT_FDCWD, path.data);
	if (!same_text(head.ref, state->head.ref) ||
	    !same_text(head.commit, state->head.commit) ||
	    !stamp_equal(&index, &tree->index_stamp))
		return false;
	if (stamp_exists(&index) && stamp_is_racy(&index, state->started_ns))
		return false;
	return git_watches_settled(watches, state->started_ns);
}

/* The facts belong to this thread until the query ends; only the owner's early
 * end could take them away, so they are read under the lock. */
static int fill_cache(struct git_state *state, struct git_cache *cache)
{
	const struct git_facts *facts = &state->facts;
	int r = 0;

	(void)pthread_mutex_lock(&state->lock);
	cache->n_modified = facts->n_modified;
	cache->n_untracked = facts->n_untracked;
	r = git_left_outs_copy(&facts->left_out, &cache->left_out);
	cache->dirty = facts->dirty;
	cache->snapshot = facts->snapshot ? strdup(facts->snapshot) : NULL;
	cache->note = facts->note ? strdup(facts->note) : NULL;
	if ((facts->snapshot && !cache->snapshot) ||
	    (facts->note && !cache->note))
		r = -ENOMEM;
	(void)pthread_mutex_unlock(&state->lock);
	if (state->head.ref && !(cache->ref = strdup(state->head.ref)))
		r = -ENOMEM;
	if (state->head.commit && !(cache->commit = strdup(state->head.commit)))
		r = -ENOMEM;
	return r;
}

int git_memory_keep(struct git_state *state, const struct git_tree *tree,
		    struct git_status *status, struct git_watches *watches)
{
	CLEANUP(git_cache_release)
	struct git_cache cache = { .context = context_of(state),
				   .index = tree->index_stamp };
	const struct origins origins = { state, tree, watches };
	int r;

	/* Root would own the file in the directory of another user. */
	if (!state->cache_path || state->head.foreign || state->runner.owner)
		return 1;
	r = watch_changes(&origins, status);
	if (r == 0)
		r = watch_places(&origins);
	if (r == 0)
		r = watch_origins(&origins);
	if (r == 0)
		r = git_status_find_ignored(status, &state->runner);
	if (r == 0)
		r = git_walk(tree, status, &state->cancel, watches);
	if (r != 0)
		return r;
	if (atomic_load(&state->cancel) || !is_settled(state, tree, watches))
		return 1;
	r = fill_cache(state, &cache);
	if (r < 0)
		return r;
	cache.watches = *watches;
	*watches = GIT_WATCHES_INIT;
	return git_cache_save(state->cache_path, &cache);
}
