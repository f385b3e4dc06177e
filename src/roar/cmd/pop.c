/* pop.c - `roar pop`: take the most recent job back.
 *
 * The record goes first, in one transaction, the files after it: killed in
 * between, pop leaves files that nothing claims, never a record whose files it
 * has taken away. */
#include <string.h>

#include "base/clock.h"
#include "base/quote.h"
#include "commands.h"
#include "project/pop_files.h"
#include "project/tidy_trees.h"
#include "store/store_group.h"
#include "ui/confirm.h"
#include "ui/view.h"

struct pop {
	struct view *view;
	struct store_job job;
	bool found;
	struct pop_file *files;
	size_t n_files;
	size_t n_delete;
};

static int newest_job(struct view *v, struct store_job *ret, bool *ret_found,
		      struct roar_error *err)
{
	struct store_job_query query = {
		.session_id = v->session.id,
		.limit = 1,
	};
	struct store_job *jobs;
	size_t n;
	int r;

	*ret_found = false;
	if (!v->has_session)
		return 0;
	r = store_jobs(v->store, &v->pool, &query, &jobs, &n, err);
	if (r < 0 || !n)
		return r;
	*ret = jobs[0];
	*ret_found = true;
	return 0;
}

static int read_plan(struct pop *p, const struct args *args,
		     struct roar_error *err)
{
	int64_t *parts;
	size_t n_parts;
	int r;

	r = newest_job(p->view, &p->job, &p->found, err);
	if (r < 0 || !p->found || args_has(args, "keep-files"))
		return r;
	/* The files of a joined job are those of its parts. */
	r = store_parts(p->view->store, &p->view->pool, p->job.id, &parts,
			&n_parts, err);
	if (r < 0 || n_parts)
		return r;
	r = pop_plan(p->view, &p->job, &p->files, &p->n_files, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < p->n_files; i++)
		p->n_delete += !p->files[i].keep;
	return 0;
}

/* ---- what will happen ---- */

static void add_job(struct pop *p)
{
	struct view *v = p->view;

	term_add(&v->out, &v->term, COLOR_BOLD, "Job ");
	term_add(&v->out, &v->term, COLOR_YELLOW, p->job.uid);
	str_addc(&v->out, ' ');
	view_step(&v->out, &p->job);
	str_adds(&v->out, ", ");
	clock_format(&v->out, p->job.started_ns);
	str_adds(&v->out, "\n  ");
	view_cut(&v->out, p->job.command, v->width - 2);
	str_addc(&v->out, '\n');
}

static void add_files(struct pop *p)
{
	struct view *v = p->view;

	for (size_t i = 0; i < p->n_files; i++) {
		const struct pop_file *f = &p->files[i];

		str_adds(&v->out, "  ");
		view_cell(v, f->keep ? COLOR_NONE : COLOR_RED,
			  f->gone ? "gone" :
			  f->keep ? "keep" :
				    "delete",
			  8);
		view_path(v, &v->out, f->row->path);
		if (f->keep && !f->gone)
			str_addf(&v->out, " (%s)", f->keep);
		str_addc(&v->out, '\n');
	}
}

static int ask(struct pop *p, const struct args *args)
{
	CLEANUP(str_release) struct str deed = STR_INIT;
	CLEANUP(str_release) struct str question = STR_INIT;

	str_addf(&deed, "removes job %s and deletes %zu file(s)", p->job.uid,
		 p->n_delete);
	str_adds(&question, "Remove this job");
	if (p->n_delete) {
		str_adds(&question, " and delete ");
		format_count(&question, p->n_delete, "file");
	}
	str_addc(&question, '?');
	return confirm(args, str_cstr(&deed), str_cstr(&question));
}

/* ---- doing it ---- */

/* Somebody may have run a job while the question stood on the screen. */
static int remove_record(struct pop *p, struct roar_error *err)
{
	struct store *store = p->view->store;
	struct store_job now;
	bool found;
	int r;

	r = store_begin(store, err);
	if (r < 0)
		return r;
	r = newest_job(p->view, &now, &found, err);
	if (r >= 0 && (!found || now.id != p->job.id))
		r = error_set(
			err, -ESTALE,
			"another job was recorded or removed in the meantime, "
			"nothing was changed: run 'roar pop' again");
	if (r >= 0)
		r = store_job_remove(store, p->job.id, err);
	if (r >= 0)
		r = store_commit(store, err);
	if (r < 0)
		store_rollback(store);
	return r;
}

static int delete_files(struct pop *p)
{
	struct view *v = p->view;
	size_t n_deleted = 0;
	int status = 0;

	for (size_t i = 0; i < p->n_files; i++) {
		CLEANUP(str_release) struct str name = STR_INIT;
		int r;

		if (p->files[i].keep)
			continue;
		r = pop_delete(&p->files[i]);
		if (r >= 0) {
			n_deleted++;
			continue;
		}
		view_path(v, &name, p->files[i].row->path);
		status = cli_fail("'%s' was not deleted: %s", str_cstr(&name),
				  r == -ESTALE ? "it has just changed" :
						 strerror(-r));
	}
	str_addf(&v->out, "Deleted %zu output file(s).\n", n_deleted);
	return status;
}

static int take_back(struct pop *p, const struct args *args)
{
	struct view *v = p->view;
	struct roar_error err = { 0 };
	struct store_file *rows;
	size_t n_rows;
	int status = 0;
	int r;

	r = store_files(v->store, &v->pool, p->job.id, true, &rows, &n_rows,
			&err);
	if (r >= 0)
		r = remove_record(p, &err);
	if (r < 0)
		return view_fail(r, &err);
	tidy_trees_of(v, rows, n_rows);
	str_clear(&v->out);
	str_addf(&v->out, "Removed job %s (step ", p->job.uid);
	view_step(&v->out, &p->job);
	str_adds(&v->out, ").\n");
	if (args_has(args, "keep-files"))
		str_adds(&v->out, "Kept its output files.\n");
	else
		status = delete_files(p);
	r = view_print(v);
	return r ? r : status;
}

static int run(const struct args *args)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	struct pop p = { .view = &v };
	struct roar_error err = { 0 };
	int r;

	r = view_open(&v, 0);
	if (r)
		return r;
	r = read_plan(&p, args, &err);
	if (r < 0)
		return view_fail(r, &err);
	if (!p.found) {
		str_adds(&v.out, "No jobs in the active session.\n");
		return view_print(&v);
	}
	add_job(&p);
	add_files(&p);
	r = view_print(&v);
	if (r == 0)
		r = ask(&p, args);
	return r ? r : take_back(&p, args);
}

static const struct option_spec options[] = {
	{ .name = "yes", .letter = 'y', .help = "do not ask" },
	{ .name = "keep-files",
	  .help = "remove the record only, delete no files" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar pop", "show what will be deleted, ask, then do it" },
	{ "roar pop -y --keep-files",
	  "remove the last job from the record only" },
	{ 0 },
};

const struct command cmd_pop = {
	.name = "pop",
	.group = GROUP_SESSIONS,
	.summary = "remove the most recent job and the files it created",
	.synopsis = "[OPTION]...",
	.about =
#include "pop.txt.inc"
		,
	.options = options,
	.examples = examples,
	.run = run,
};
