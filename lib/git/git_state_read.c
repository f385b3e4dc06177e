/* git_state_read.c - the work of a query's thread, from first to last.
 *
 * Facts are published as soon as they are known, under the lock: an owner that ends the
 * query early gets what there is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/quote.h"
#include "base/stamp.h"
#include "base/str.h"
#include "git/git_index.h"
#include "git/git_packages.h"
#include "git/git_snapshot.h"
#include "git/git_state_internal.h"
#include "git/git_status.h"
#include "git/git_tree.h"

enum { NAMES_IN_NOTE = 4 };

static const char not_known[] = "the state of the work tree is not known";
static const char not_kept[] = "no snapshot was made";

/* The first line that git wrote to its error output, fit for a sentence. */
static void add_git_words(struct str *out, const struct str *errors)
{
	const char *text = str_cstr(errors);
	size_t len;

	if (strncmp(text, "fatal: ", 7) == 0 ||
	    strncmp(text, "error: ", 7) == 0)
		text += 7;
	len = strcspn(text, "\r\n");
	quote_printable(out, text, len > 300 ? 300 : len);
}

/* Notes why `what`: the result `r` of a git process and its words. */
static void note_failure(struct git_state *state, const char *what, int r,
			 const struct str *errors)
{
	CLEANUP(str_release) struct str words = STR_INIT;

	add_git_words(&words, errors);
	if (r == -ENOPKG)
		git_state_note(state, "%s: git is not installed", what);
	else if (r == -ETIMEDOUT)
		git_state_note(state, "%s: git did not answer in %g s", what,
			       state->limits.timeout_ms / 1000.0);
	else if (r == -ECANCELED)
		git_state_note(state, "%s: the run ended before git answered",
			       what);
	else if (r > 0 && words.len)
		git_state_note(state, "%s: git says: %s", what, words.data);
	else if (r > 0)
		git_state_note(state, "%s: git failed with status %d", what, r);
	else
		git_state_note(state, "%s: %s", what, strerrordesc_np(-r));
}

/* --- HEAD of a repository whose refs only git reads ----------------------- */

static int ask_line(struct git_state *state, struct git_command *command,
		    char **ret_line)
{
	CLEANUP(str_release) struct str errors = STR_INIT;
	CLEANUP(str_release) struct str text = STR_INIT;
	int r;

	command->take = git_take_text;
	command->ctx = &text;
	r = git_run(&state->runner, command, &errors);
	if (r < 0)
		return r;
	if (r > 0)
		return 0; /* detached, or no commit yet */
	if (text.len && text.data[text.len - 1] == '\n')
		text.data[--text.len] = '\0';
	*ret_line = str_take(&text);
	return *ret_line ? 0 : -ENOMEM;
}

static int ask_head(struct git_state *state)
{
	struct git_command ref = { .args = { "symbolic-ref", "-q", "HEAD",
					     NULL } };
	struct git_command commit = { .args = { "rev-parse", "-q", "--verify",
						"HEAD^{commit}", NULL } };
	CLEANUP(str_release) struct str none = STR_INIT;
	struct git_head *head = &state->head;
	struct git_facts *facts = &state->facts;
	int r;

	r = ask_line(state, &ref, &head->ref);
	if (r == 0)
		r = ask_line(state, &commit, &head->commit);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		note_failure(state, "the commit is not known", r, &none);
		return 0;
	}
	(void)pthread_mutex_lock(&state->lock);
	if (head->commit)
		facts->commit = strdup(head->commit);
	if (head->ref)
		facts->branch = strdup(git_ref_short(head->ref));
	if ((head->commit && !facts->commit) || (head->ref && !facts->branch))
		r = -ENOMEM;
	(void)pthread_mutex_unlock(&state->lock);
	return r;
}

/* --- status and snapshot -------------------------------------------------- */

static bool is_young(const struct git_state *state, const char *path)
{
	struct stamp stamp;
	struct stat st;

	if (lstat(path, &st) < 0)
		return true; /* and gone already */
	stamp = stamp_of(&st);
	return stamp_is_racy(&stamp, state->started_ns);
}

static bool is_made(struct git_state *state, struct str *path,
		    const struct git_change *change)
{
	if (!change->untracked)
		return false;
	str_clear(path);
	str_addf(path, "%s/", state->repo.root);
	str_add(path, change->path, change->len);
	return str_error(path) == 0 &&
	       state->is_made(state->ctx, path->data, path->len,
			      is_young(state, path->data));
}

/* The command writes while git looks: what it has made is not what it started
 * from. */
static void leave_out_made(struct git_state *state, struct git_status *status)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	size_t kept = 0;

	if (!state->is_made)
		return;
	for (size_t i = 0; i < status->n_changes; i++) {
		if (is_made(state, &path, &status->changes[i]))
			status->n_untracked--;
		else
			status->changes[kept++] = status->changes[i];
	}
	status->n_changes = kept;
}

static void publish_status(struct git_state *state,
			   const struct git_status *status,
			   uint32_t n_submodules)
{
	(void)pthread_mutex_lock(&state->lock);
	state->facts.checked = true;
	state->facts.n_modified = status->n_modified;
	state->facts.n_untracked = status->n_untracked;
	if (status->n_modified || status->n_untracked)
		state->facts.dirty = TRI_YES;
	else
		state->facts.dirty = n_submodules ? TRI_UNKNOWN : TRI_NO;
	(void)pthread_mutex_unlock(&state->lock);
	if (n_submodules)
		git_state_note(state,
			       "%u submodule%s: uncommitted changes inside "
			       "are not looked for",
			       n_submodules, n_submodules == 1 ? "" : "s");
}

static void publish_snapshot(struct git_state *state,
			     struct git_snapshot *snapshot)
{
	CLEANUP(str_release) struct str names = STR_INIT;
	uint32_t n = snapshot->left_out.n;

	git_left_outs_describe(&snapshot->left_out, NAMES_IN_NOTE, &names);
	if (n)
		git_state_note(state, "%u uncommitted file%s %s: %s", n,
			       n == 1 ? " is" : "s are",
			       snapshot->id ? "not in the snapshot" :
					      "in no snapshot",
			       str_cstr(&names));
	(void)pthread_mutex_lock(&state->lock);
	state->facts.snapshot = TAKE_PTR(snapshot->id);
	state->facts.left_out = snapshot->left_out;
	snapshot->left_out = (struct git_left_outs){ 0 };
	(void)pthread_mutex_unlock(&state->lock);
}

/* 0 when the snapshot is made or there is none to make, 1 when it failed. */
static int make_snapshot(struct git_state *state, const struct git_tree *tree,
			 const struct git_status *status)
{
	CLEANUP(git_snapshot_release) struct git_snapshot snapshot = { 0 };
	CLEANUP(str_release) struct str errors = STR_INIT;
	const struct git_snapshot_job job = {
		.runner = &state->runner,
		.tree = tree,
		.status = status,
		.commit = state->head.commit,
		.work_prefix = state->cache_path,
		.limits = state->limits,
	};
	int r;

	if (state->no_snapshot || !(status->n_modified || status->n_untracked))
		return 0;
	r = git_snapshot_make(&job, &snapshot, &errors);
	if (r == -ENOMEM)
		return r;
	if (r == 0) {
		publish_snapshot(state, &snapshot);
		return 0;
	}
	note_failure(state, not_kept, r, &errors);
	return 1;
}

/* Collects the tracked files that only git can judge. */
static int collect(void *ctx, const struct git_index_entry *entry,
		   const struct stamp *now)
{
	if (entry->mode == GIT_MODE_GITLINK)
		return -EOPNOTSUPP; /* no stamp identifies the current commit */
	return git_watch_put(ctx, entry->path, entry->path_len, now);
}

/* Asks git, and has the answer remembered if that can be done. */
static int ask_git(struct git_state *state, struct git_tree *tree)
{
	CLEANUP(git_watches_release)
	struct git_watches watches = GIT_WATCHES_INIT;
	CLEANUP(git_status_release) struct git_status status;
	CLEANUP(str_release) struct str errors = STR_INIT;
	int scanned, r;

	git_status_init(&status, state->own);
	scanned = git_tree_scan(tree, &state->cancel, collect, &watches);
	if (scanned == -ENOMEM)
		return scanned;
	r = git_status_read(&status, &state->runner, &errors);
	if (r == -ENOMEM)
		return r;
	if (r != 0) {
		note_failure(state, not_known, r, &errors);
		return 0;
	}
	leave_out_made(state, &status);
	r = git_packages_fold(&status);
	if (r < 0)
		return r;
	publish_status(state, &status, tree->n_submodules);
	r = make_snapshot(state, tree, &status);
	if (r != 0 || scanned < 0 || status.overflow)
		return r < 0 ? r : 0;
	r = git_memory_keep(state, tree, &status, &watches);
	return r == -ENOMEM ? r : 0;
}

int git_state_read(struct git_state *state)
{
	struct git_tree tree;
	int r;

	if (state->elsewhere) {
		git_state_note(state,
			       "%s: core.worktree names another directory",
			       not_known);
		return 0;
	}
	if (state->head.foreign) {
		r = ask_head(state);
		if (r < 0)
			return r;
	}
	r = git_tree_open(&tree, &state->repo, &state->config, state->own);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		git_state_note(state, "%s: %s", not_known, strerrordesc_np(-r));
		return 0;
	}
	r = git_memory_recall(state, &tree);
	if (r == 0)
		r = ask_git(state, &tree);
	git_tree_close(&tree);
	return r < 0 ? r : 0;
}
