/* plan_text.c - the plan as text
 *
 *	To make model.pt again (3f2a11c09d4e):
 *	  Code:         /home/ann/project at 1a2b3c4d5e6f
 *	  Python:       3.11.4, in a new virtual environment with 12 packages
 *
 *	Steps (2)
 *	  @1  python prepare.py raw.csv
 *	Inputs (1)
 *	  8ebd15e1b413  6 B         raw.csv  disk
 *	Packages (12)
 *	  pip  numpy 1.26.4
 *	Notes (1)
 *	  ...
 */
#include <string.h>

#include "base/quote.h"
#include "reproduce/reproduce.h"
#include "ui/table.h"
#include "ui/view.h"

enum {
	PACKAGES_SHOWN = 10, /* of each manager */
	ROWS_SHOWN = 200, /* of steps and inputs */
	COMMAND_WIDTH = 400,
	CODES_SHOWN = 5,
};

static void add_heading(struct view *v, const char *title, size_t n)
{
	struct str text = STR_INIT;

	str_addf(&text, "%s (%zu)", title, n);
	str_addc(&v->out, '\n');
	term_add(&v->out, &v->term, COLOR_BOLD, str_cstr(&text));
	str_addc(&v->out, '\n');
	v->out.failed |= text.failed;
	str_release(&text);
}

static void add_more(struct view *v, size_t n, size_t shown, const char *hint)
{
	if (n > shown)
		str_addf(&v->out, "  ... and %zu more%s\n", n - shown, hint);
}

/* ---- head ---- */

static void add_title(struct reproduce *p)
{
	struct view *v = p->view;
	struct str title = STR_INIT;

	str_adds(&title, "To make ");
	if (p->target.kind == TARGET_JOB) {
		str_adds(&title, "the outputs of ");
		view_step_full(v, &title, p->job);
		str_addf(&title, " %s again:", p->job->uid);
	} else {
		quote_printable_cut(&title, p->word, 200);
		str_adds(&title, " again (");
		view_hash(&title, &p->target.artifact.digests);
		str_adds(&title, "):");
	}
	term_add(&v->out, &v->term, COLOR_BOLD, str_cstr(&title));
	str_addc(&v->out, '\n');
	v->out.failed |= title.failed;
	str_release(&title);
}

static void add_code(struct view *v, const struct recipe_code *code)
{
	const char *from = code->found_in ? code->found_in : code->remote;

	view_label(v, "Code:");
	if (*from)
		quote_printable(&v->out, from, strlen(from));
	else
		str_adds(&v->out, "no repository");
	str_addf(&v->out, " at %.12s",
		 *code->commit ? code->commit : "no commit");
	if (*code->snapshot)
		str_addf(&v->out,
			 " with the uncommitted changes of snapshot "
			 "%.12s",
			 code->snapshot);
	str_addc(&v->out, '\n');
}

static size_t count_pip(const struct requirements *needs)
{
	size_t n = 0;

	for (size_t i = 0; i < needs->n; i++)
		n += requirement_is_pip(&needs->all[i]);
	return n;
}

static void add_python(struct reproduce *p)
{
	const struct interpreter *python = NULL;
	struct view *v = p->view;
	size_t n = count_pip(&p->recipe.needs);

	for (size_t i = 0;
	     i < p->recipe.n_steps && !(python && *python->version); i++)
		python = requirements_python(&p->recipe.steps[i].needs);
	if (!python)
		return;
	view_label(v, "Python:");
	str_adds(&v->out, *python->version ? python->version : "some version");
	if (n) {
		str_adds(&v->out, ", in a new virtual environment with ");
		format_count(&v->out, n, "package");
	} else {
		str_adds(&v->out, ", of this machine");
	}
	str_addc(&v->out, '\n');
}

/* ---- lists ---- */

static void add_steps(struct reproduce *p)
{
	const struct recipe *recipe = &p->recipe;
	struct view *v = p->view;

	add_heading(v, "Steps", recipe->n_steps);
	for (size_t i = 0; i < recipe->n_steps && i < ROWS_SHOWN; i++) {
		const struct store_job *job = recipe->steps[i].job;

		str_adds(&v->out, "  ");
		view_step_full(v, &v->out, job);
		str_adds(&v->out, "  ");
		if (*job->name) {
			view_cut(&v->out, job->name, 40);
			str_adds(&v->out, ": ");
		}
		view_cut(&v->out, recipe->steps[i].command, COMMAND_WIDTH);
		str_addc(&v->out, '\n');
	}
	add_more(v, recipe->n_steps, ROWS_SHOWN, ": --json has all");
}

static void add_input(struct view *v, const struct recipe_input *input)
{
	struct str cell = STR_INIT;

	str_adds(&v->out, "  ");
	view_hash(&cell, &input->row->digests);
	view_cell_str(v, COLOR_CYAN, &cell, VIEW_HASH_DIGITS + 2);
	str_clear(&cell);
	format_size(&cell, input->row->stamp.size);
	view_cell_str(v, COLOR_NONE, &cell, 12);
	str_release(&cell);
	view_path(v, &v->out, input->row->path);
	str_adds(&v->out, "  ");
	term_add(&v->out, &v->term,
		 input->source == RECIPE_MISSING ? COLOR_RED : COLOR_DIM,
		 recipe_source_word(input->source));
	if (input->from && strcmp(input->from, input->row->path) != 0) {
		str_adds(&v->out, " from ");
		view_path(v, &v->out, input->from);
	}
	str_addc(&v->out, '\n');
}

static void add_inputs(struct reproduce *p)
{
	const struct recipe *recipe = &p->recipe;
	struct view *v = p->view;
	size_t n_code = 0;
	size_t n = 0;

	for (size_t i = 0; i < recipe->n_inputs; i++)
		n_code += recipe->inputs[i].source == RECIPE_CODE;
	add_heading(v, "Inputs", recipe->n_inputs);
	for (size_t i = 0; i < recipe->n_inputs; i++)
		if (recipe->inputs[i].source != RECIPE_CODE && n++ < ROWS_SHOWN)
			add_input(v, &recipe->inputs[i]);
	add_more(v, recipe->n_inputs - n_code, ROWS_SHOWN, ": --json has all");
	if (n_code) {
		str_adds(&v->out, "  ");
		format_count(&v->out, n_code, "file");
		str_adds(&v->out, " of the code\n");
	}
}

static void add_package(struct view *v, const struct requirement *r)
{
	str_adds(&v->out, "  ");
	view_cut(&v->out, r->manager, 12);
	str_adds(&v->out, "  ");
	view_cut(&v->out, r->name, 120);
	if (*r->version) {
		str_addc(&v->out, ' ');
		view_cut(&v->out, r->version, 120);
	}
	if (r->editable)
		str_adds(&v->out, " (editable)");
	if (r->of_system)
		str_adds(&v->out, " (of the system)");
	if (!r->installable)
		str_adds(&v->out, " (cannot be installed under this name)");
	str_addc(&v->out, '\n');
}

static void add_packages(struct reproduce *p, size_t most)
{
	const struct requirements *needs = &p->recipe.needs;
	size_t of_manager = 0;
	size_t hidden = 0;

	if (!needs->n)
		return;
	add_heading(p->view, "Packages", needs->n);
	for (size_t i = 0; i < needs->n; i++) {
		if (i && strcmp(needs->all[i].manager,
				needs->all[i - 1].manager) != 0)
			of_manager = 0;
		if (of_manager++ < most)
			add_package(p->view, &needs->all[i]);
		else
			hidden++;
	}
	add_more(p->view, hidden, 0, ": --list-requirements lists them");
}

static void add_notes(struct reproduce *p)
{
	struct view *v = p->view;

	if (!p->n_notes)
		return;
	add_heading(v, "Notes", p->n_notes);
	for (size_t i = 0; i < p->n_notes; i++) {
		str_adds(&v->out, "  ");
		if (p->notes[i].stops)
			term_add(&v->out, &v->term, COLOR_RED, "cannot run: ");
		str_adds(&v->out, p->notes[i].text);
		str_addc(&v->out, '\n');
	}
}

void plan_text(struct reproduce *p)
{
	add_title(p);
	for (size_t i = 0; i < p->recipe.n_codes && i < CODES_SHOWN; i++)
		add_code(p->view, p->recipe.codes[i]);
	add_more(p->view, p->recipe.n_codes, CODES_SHOWN,
		 " versions of the code: --json has all");
	add_python(p);
	add_steps(p);
	add_inputs(p);
	add_packages(p, PACKAGES_SHOWN);
	add_notes(p);
}

/* ---- --list-requirements ---- */

void plan_requirements_text(struct reproduce *p)
{
	struct view *v = p->view;

	for (size_t i = 0; i < p->recipe.n_steps; i++) {
		const struct interpreter *python = requirements_python(
			&p->recipe.steps[i].needs);

		if (!python)
			continue;
		str_adds(&v->out, "Python of ");
		view_step_full(v, &v->out, p->recipe.steps[i].job);
		str_addf(&v->out, ": %s  ", python->version);
		view_path(v, &v->out, python->path);
		str_addc(&v->out, '\n');
	}
	add_packages(p, SIZE_MAX);
	if (!p->recipe.needs.n)
		str_adds(&v->out, "No packages were recorded.\n");
}
