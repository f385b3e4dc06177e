/* hints.c - see hints.h */
#include "run/hints.h"

#include <string.h>

#include "base/path.h"
#include "base/quote.h"
#include "git/git.h"
#include "query/pipeline.h"
#include "query/query.h"
#include "query/stale_steps.h"
#include "run/run.h"
#include "ui/view.h"

enum { NAMED = 3 }; /* files or steps a line has room for */

static void start_hint(struct str *out, const struct term *term)
{
	str_adds(out, "  ");
	term_add(out, term, COLOR_CYAN, "hint");
	str_adds(out, "  ");
}

/* ---- what git does not know ---- */

/* Outputs in the work tree, relative to its top; at most GIT_UNTRACKED_MAX. */
static size_t list_outputs(const struct run *run, const char *paths[])
{
	const char *root = run->git.root;
	size_t len = strlen(root);
	size_t n = 0;

	for (size_t i = 0; i < run->n_files && n < GIT_UNTRACKED_MAX; i++) {
		const struct run_file *e = &run->files[i];

		if (!e->filter && (e->roles & LINEAGE_OUTPUT) &&
		    strncmp(e->file->path, root, len) == 0 &&
		    e->file->path[len] == '/')
			paths[n++] = e->file->path + len + 1;
	}
	return n;
}

/* Length of the directory (with its slash) that all of them are in; 0: of none. */
static size_t common_folder(const char *const paths[], size_t n)
{
	const char *slash = strchr(paths[0], '/');
	size_t len = slash ? (size_t)(slash - paths[0]) + 1 : 0;

	for (size_t i = 1; i < n; i++)
		if (strncmp(paths[0], paths[i], len) != 0)
			return 0;
	return len;
}

/* A line of .gitignore that means just this path. */
static void add_rule(struct str *out, const char *path, size_t len)
{
	CLEANUP(str_release) struct str rule = STR_INIT;

	str_addc(&rule, '/');
	for (size_t i = 0; i < len; i++) {
		if (strchr("*?[\\", path[i]))
			str_addc(&rule, '\\');
		str_addc(&rule, path[i]);
	}
	if (len && path[len - 1] == ' ')
		str_addc(&rule, '\\');
	quote_printable(out, str_cstr(&rule), rule.len);
}

static void add_unknown(struct str *out, const struct run *run,
			const struct term *term)
{
	const char *paths[GIT_UNTRACKED_MAX];
	size_t folder;
	int n;

	if (!run->git.root)
		return;
	n = git_untracked_find(run->git.root, paths, list_outputs(run, paths));
	if (n <= 0)
		return;
	start_hint(out, term);
	str_addf(out, "git does not track %s: commit %s, or add ",
		 n == 1 ? "one of the outputs" : "some of the outputs",
		 n == 1 ? "it" : "them");
	folder = n > NAMED ? common_folder(paths, (size_t)n) : 0;
	if (folder)
		add_rule(out, paths[0], folder);
	for (int i = 0; !folder && i < n && i < NAMED; i++) {
		str_adds(out, i ? ", " : "");
		add_rule(out, paths[i], strlen(paths[i]));
	}
	str_addf(out, "%s to .gitignore\n",
		 !folder && n > NAMED ? " and more" : "");
}

/* ---- what is stale now ---- */

static void add_step(struct str *out, const struct pipeline *p, uint32_t node)
{
	const struct store_outline *o = pipeline_outline(p, node);

	view_step_number(out, o->is_build, o->step);
}

static void name_steps(struct str *out, const struct pipeline *p,
		       const struct stale_steps *stale)
{
	size_t n = stale->n;

	for (size_t i = 0; i < n && i < NAMED; i++) {
		str_adds(out, i ? ", " : "");
		add_step(out, p, stale->nodes[i]);
	}
	if (n == 1) {
		str_adds(out, " is stale now: 'roar run ");
		add_step(out, p, stale->nodes[0]);
		str_adds(out, "' brings it up to date\n");
		return;
	}
	if (n > NAMED)
		str_addf(out, " and %zu more", n - NAMED);
	str_adds(out, " are stale now: 'roar dag --stale-only' lists them\n");
}

static void add_stale(struct str *out, const struct run *run,
		      const struct term *term)
{
	CLEANUP(store_closep) struct store *store = NULL;
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(pipeline_release) struct pipeline p = PIPELINE_INIT;
	struct query q = { .pool = &pool };
	struct stale_steps stale;

	if (store_open(run->project->dir, STORE_READONLY, &store, NULL) < 0)
		return;
	q.store = store;
	if (pipeline_load(&q, run->job.session_id, PIPELINE_NO_JOBS, &p, NULL) <
		    0 ||
	    stale_steps_below(&p, &pool, run->job.id, &stale) < 0 || !stale.n)
		return;
	start_hint(out, term);
	name_steps(out, &p, &stale);
}

void hints_add(struct str *out, const struct run *run, const struct term *term)
{
	if (!term->tty || !run->project->config.hints || !run->n_outputs)
		return;
	add_unknown(out, run, term);
	add_stale(out, run, term);
}
