/* plan.c - the recipe for what the user named, and what speaks against it */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/quote.h"
#include "base/vec.h"
#include "hash/digest/digest_cache.h"
#include "hash/user_cache.h"
#include "keep/keep.h"
#include "lineage/filter.h"
#include "lineage/fold.h"
#include "lineage/redact.h"
#include "query/presence.h"
#include "query/producer.h"
#include "reproduce/foreign_record.h"
#include "reproduce/reproduce.h"
#include "rerun/rerun_work.h"
#include "run/argv_json.h"
#include "ui/view.h"

/* Bytes that a plan reads of files whose stamp has changed. */
enum { PLAN_READS = 256 << 20 };

void reproduce_release(struct reproduce *p)
{
	recipe_release(&p->recipe);
	free(p->notes);
}

int reproduce_note(struct reproduce *p, bool stops, const char *fmt, ...)
{
	struct reproduce_note *note = VEC_PUSH(p->notes, p->n_notes,
					       p->cap_notes);
	CLEANUP(str_release) struct str text = STR_INIT;
	va_list ap;

	if (!note)
		return -ENOMEM;
	va_start(ap, fmt);
	str_addv(&text, fmt, ap);
	va_end(ap);
	note->stops = stops;
	note->text = str_error(&text) < 0 ?
			     NULL :
			     pool_strdup(&p->view->pool, text.data);
	if (note->text)
		return 0;
	p->n_notes--;
	return -ENOMEM;
}

const char *reproduce_step_ref(struct reproduce *p,
			       const struct recipe_step *step)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	const char *copy;

	view_step_full(p->view, &text, step->job);
	copy = pool_strdup(&p->view->pool, str_cstr(&text));
	return copy ? copy : "";
}

/* ---- what speaks against it ---- */

static const char *shown(struct reproduce *p, const char *path)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	const char *copy;

	view_path(p->view, &text, path);
	copy = pool_printf(&p->view->pool, "%.400s", str_cstr(&text));
	return copy ? copy : "";
}

static bool has_secrets(char *const argv[])
{
	for (size_t i = 0; argv[i]; i++)
		if (strstr(argv[i], REDACTED))
			return true;
	return false;
}

static int check_command(struct reproduce *p, const struct recipe_step *step)
{
	const char *why = rerun_refusal(step->job);
	const char *ref = reproduce_step_ref(p, step);

	if (why)
		return reproduce_note(p, true, "step %s is not run again: %s",
				      ref, why);
	if (!step->argv)
		return reproduce_note(p, true,
				      "the command of step %s cannot be read "
				      "from the record",
				      ref);
	if (has_secrets(step->argv))
		return reproduce_note(p, true,
				      "step %s was recorded without the "
				      "secrets of its command line, and cannot "
				      "be run without them",
				      ref);
	if (!step->place)
		return reproduce_note(p, true,
				      "step %s ran in '%s', which has no place "
				      "in a new directory",
				      ref, shown(p, step->job->cwd));
	return 0;
}

static int note_outside(struct reproduce *p, const struct recipe_step *step,
			const struct store_file *row)
{
	int r = reproduce_note(p, true,
			       "step %s wrote '%s', which is outside of the "
			       "new directory and would be overwritten "
			       "(--sandbox with bubblewrap prevents that)",
			       reproduce_step_ref(p, step),
			       shown(p, row->path));

	if (r == 0)
		p->notes[p->n_notes - 1].outside = true;
	return r;
}

/* Is the row a file of somebody that the step would overwrite, although it is not shown as
 * an output?  Caches are rewritten by every program, and packages are installed into the new
 * environment where the step had one. */
static bool is_hidden_output(const struct recipe_step *step,
			     const struct store_file *row)
{
	const struct interpreter *python = requirements_python(&step->needs);

	if (row->role != LINEAGE_OUTPUT || row->path[0] != '/' ||
	    access(row->path, F_OK) < 0)
		return false;
	switch (row->filter) {
	case FILTER_CREDENTIALS:
	case FILTER_SYSTEM:
	case FILTER_TMP:
	case FILTER_PATTERNS:
		return true;
	case FILTER_PACKAGES:
		return !strstr(row->path, "__pycache__") &&
		       !(python && python->in_venv &&
			 path_is_under(row->path, python->prefix));
	default:
		return false;
	}
}

static int check_hidden(struct reproduce *p, const struct recipe_step *step,
			struct roar_error *err)
{
	struct store_file *files;
	const char *place;
	size_t n;
	int r = 0;

	if (!step->job->n_filtered)
		return 0;
	r = store_files(p->view->store, &p->view->pool, step->job->id, true,
			&files, &n, err);
	for (size_t i = 0; i < n && r == 0; i++) {
		if (!is_hidden_output(step, &files[i]))
			continue;
		r = recipe_place(&p->recipe.roots, &p->view->pool,
				 files[i].path, &place);
		if (r == 0 && !place)
			r = note_outside(p, step, &files[i]);
	}
	return r;
}

int plan_check_hidden(struct reproduce *p, struct roar_error *err)
{
	int r = 0;

	for (size_t i = 0; i < p->recipe.n_steps && r == 0; i++)
		r = check_hidden(p, &p->recipe.steps[i], err);
	return r;
}

/* What it wrote elsewhere would be overwritten there. */
static int check_outputs(struct reproduce *p, const struct recipe_step *step)
{
	const char *place;
	int r = 0;

	for (size_t i = 0; i < step->n_files && r == 0; i++) {
		const struct store_file *row = &step->files[i];

		if (row->role != LINEAGE_OUTPUT)
			continue;
		r = recipe_place(&p->recipe.roots, &p->view->pool, row->path,
				 &place);
		if (r == 0 && place && recipe_changes_unread(step, row) &&
		    !recipe_code_has(step, row->path))
			r = reproduce_note(
				p, false,
				"step %s changed '%s' in place without reading "
				"it, so its earlier content is not in the "
				"record",
				reproduce_step_ref(p, step),
				shown(p, row->path));
		if (r == 0 && !place)
			r = note_outside(p, step, row);
	}
	return r;
}

static int check_record(struct reproduce *p, const struct recipe_step *step)
{
	const struct store_job *job = step->job;
	const char *ref = reproduce_step_ref(p, step);
	int r = 0;

	if (!job->complete)
		r = reproduce_note(p, false,
				   "the record of step %s is incomplete, so "
				   "files may be missing: 'roar show %s' has "
				   "the reasons",
				   ref, job->uid);
	if (r == 0 && job->status == STORE_INTERRUPTED)
		r = reproduce_note(p, false,
				   "step %s was interrupted when it was "
				   "recorded",
				   ref);
	if (r == 0 && job->git_n_left_out)
		r = reproduce_note(p, false,
				   "%lld uncommitted files are not in the "
				   "snapshot of step %s: 'roar show %s' lists "
				   "them",
				   (long long)job->git_n_left_out, ref,
				   job->uid);
	if (r == 0 && *job->git_note)
		r = reproduce_note(p, false, "git, step %s: %.600s", ref,
				   job->git_note);
	return r;
}

static int check_code(struct reproduce *p, const struct recipe_code *code)
{
	const char *what = *code->snapshot ? "snapshot" : "commit";
	int r = 0;

	if (!code->place)
		r = reproduce_note(p, true,
				   "the work tree '%s' has no place in a new "
				   "directory",
				   shown(p, code->root));
	if (r == 0 && !code->found_in && !*code->remote)
		r = reproduce_note(p, true,
				   "the %s %.12s is not in a repository here, "
				   "and no remote was recorded",
				   what, code->tree);
	else if (r == 0 && !code->found_in && *code->snapshot)
		r = reproduce_note(p, false,
				   "the snapshot %.12s is not in a repository "
				   "here: it can be fetched only if it was "
				   "pushed to the remote",
				   code->tree);
	if (r == 0 && code->has_submodules)
		r = reproduce_note(p, false,
				   "the code has submodules, which are not "
				   "restored");
	return r;
}

bool reproduce_is_reserved(const char *name)
{
	for (;;) {
		size_t len = strcspn(name, "/");

		if ((len == 5 && !strncmp(name, ".roar", 5)) ||
		    (len == 4 && !strncmp(name, ".git", 4)) ||
		    !strncmp(name, ".venv", 5))
			return true;
		if (!name[len])
			return false;
		name += len + 1;
	}
}

static int check_input(struct reproduce *p, const struct recipe_input *input)
{
	if (p->foreign && input->place && reproduce_is_reserved(input->place))
		return reproduce_note(p, true,
				      "the input '%s' of somebody else would "
				      "decide what git, roar or Python run",
				      shown(p, input->row->path));
	if (input->source != RECIPE_MISSING)
		return 0;
	return reproduce_note(p, true, "the input '%s' is missing: %s",
			      shown(p, input->row->path), input->why);
}

static int check(struct reproduce *p)
{
	const struct recipe *recipe = &p->recipe;
	bool known = false;
	int r = 0;

	for (size_t i = 0; i < recipe->n_codes && r == 0; i++)
		r = check_code(p, recipe->codes[i]);
	for (size_t i = 0; i < recipe->n_inputs && r == 0; i++)
		r = check_input(p, &recipe->inputs[i]);
	for (size_t i = 0; i < recipe->n_steps && r == 0; i++) {
		r = check_command(p, &recipe->steps[i]);
		if (r == 0)
			r = check_outputs(p, &recipe->steps[i]);
		if (r == 0)
			r = check_record(p, &recipe->steps[i]);
		known |= recipe->steps[i].needs.n ||
			 recipe->steps[i].needs.n_interpreters;
	}
	if (r == 0 && !known)
		r = reproduce_note(p, false,
				   "no packages were recorded: the steps use "
				   "those of this machine");
	return r;
}

/* ---- the recipe ---- */

/* What somebody else calls the command may be another one. */
static int take_command(struct reproduce *p, struct recipe_step *step)
{
	CLEANUP(str_release) struct str text = STR_INIT;

	quote_argv(&text, step->argv);
	step->command = str_error(&text) < 0 ?
				NULL :
				pool_strdup(&p->view->pool, text.data);
	return step->command ? 0 : -ENOMEM;
}

static int read_commands(struct reproduce *p)
{
	size_t n;
	int r = 0;

	for (size_t i = 0; i < p->recipe.n_steps && r != -ENOMEM; i++) {
		struct recipe_step *step = &p->recipe.steps[i];

		step->command = step->job->command;
		r = argv_json_decode(&p->view->pool, step->job->argv,
				     &step->argv, &n);
		if (r < 0 || !n)
			step->argv = NULL;
		else if (p->foreign)
			r = take_command(p, step);
	}
	return r == -ENOMEM ? r : 0;
}

static int find_maker(struct reproduce *p, struct roar_error *err)
{
	CLEANUP(str_release) struct str word = STR_INIT;
	struct target *t = &p->target;
	int r = 0;

	if (t->kind == TARGET_JOB)
		p->job = &t->job;
	else
		r = producer_find_newest(&p->view->query, t->artifact.id,
					 t->path, &p->job, err);
	if (r < 0)
		return r;
	quote_printable_cut(&word, p->word, 200);
	if (!p->job)
		return error_set(err, -ENOENT,
				 "no recorded job wrote '%s': it came from "
				 "outside, so there are no steps to reproduce",
				 str_cstr(&word));
	if (recipe_is_transfer(p->job))
		return error_set(err, -EINVAL,
				 "'%s' is a transfer: type it again, %.300s",
				 str_cstr(&word), p->job->command);
	return 0;
}

static int find_target(struct reproduce *p, struct roar_error *err)
{
	if (p->word)
		return target_resolve(&p->view->query, p->view->project.cwd,
				      p->word, TARGET_ANY, &p->target, err);
	p->target.kind = TARGET_JOB;
	p->word = "the newest job";
	return foreign_record_last_job(p->view, &p->target.job, err);
}

/* Does a step come from an imported record?  Its commands are those of somebody else. */
static int find_foreign(struct reproduce *p, struct roar_error *err)
{
	struct store_session *sessions;
	size_t n;
	int r = store_sessions(p->view->store, &p->view->pool, &sessions, &n,
			       err);

	for (size_t i = 0; i < n && r == 0; i++)
		for (size_t k = 0; k < p->recipe.n_steps; k++)
			p->foreign |= sessions[i].imported_ns &&
				      p->recipe.steps[k].job->session_id ==
					      sessions[i].id;
	return r;
}

static bool is_kept(void *dirfd, const uint8_t blake3[BLAKE3_LEN])
{
	return keep_has(*(int *)dirfd, blake3, NULL);
}

int plan_make(struct reproduce *p, struct roar_error *err)
{
	struct presence_look look = { .budget = PLAN_READS,
				      .open_cache = user_cache_open };
	const struct recipe_options options = {
		.project = p->view->project.root,
		.look = &look,
		.is_kept = is_kept,
		.ctx = &p->view->project.dirfd,
	};
	int r = find_target(p, err);

	if (r >= 0)
		r = find_maker(p, err);
	if (r >= 0)
		r = recipe_make(&p->view->query, p->job, &options, &p->recipe,
				err);
	presence_look_release(&look);
	if (r >= 0)
		r = find_foreign(p, err);
	if (r >= 0)
		r = read_commands(p);
	return r < 0 ? r : check(p);
}
