/* dag_substeps.c - the programs of a step below it, in the expanded pipeline. */
#include <errno.h>
#include <string.h>

#include "query/substeps.h"
#include "show/dag.h"
#include "store/store.h"
#include "ui/view.h"

enum { NAMES_SHOWN = 3, NAMES_JSON = 100, AFTER_SHOWN = 5 };

int dag_load_substeps(struct dag *d, struct roar_error *err)
{
	struct view *v = d->view;
	int r = 0;

	d->substeps = pool_zalloc(&v->pool,
				  (d->n_rows + 1) * sizeof(*d->substeps));
	if (!d->substeps)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t row = 0; r == 0 && row < d->n_rows; row++) {
		const struct store_job *job = pipeline_job(&d->pipeline,
							   d->rows[row]);

		if (job->n_processes > 1)
			r = substeps_load(&v->query, job->id, &d->substeps[row],
					  err);
	}
	return r;
}

/* Only those that are shown have a number, from 1. */
static uint32_t *numbers_of(struct dag *d, const struct substeps *s)
{
	uint32_t *numbers = pool_alloc(&d->view->pool,
				       (s->n + 1) * sizeof(*numbers));
	uint32_t n = 0;

	if (!numbers)
		d->view->out.failed = true;
	for (size_t i = 0; numbers && i < s->n; i++)
		numbers[i] = s->list[i].hidden ? 0 : ++n;
	return numbers;
}

static bool is_worth_showing(const struct substeps *s)
{
	return s->n_shown > 1;
}

/* ---- text ---- */

static void add_after(struct str *out, const struct substep *step,
		      const uint32_t *numbers)
{
	for (uint32_t i = 0; i < step->after.n; i++) {
		if (i == AFTER_SHOWN) {
			str_addf(out, ",+%u", step->after.n - i);
			return;
		}
		str_addf(out, "%s.%u", i ? "," : "after ",
			 numbers[step->after.at[i]]);
	}
	if (step->after.n)
		str_adds(out, "  ");
}

static void add_names(struct view *v, const struct substeps *s,
		      const struct substep_list *files, const char *below,
		      const char *verb)
{
	for (uint32_t i = 0; i < files->n && i < NAMES_SHOWN; i++) {
		if (i)
			str_adds(&v->out, ", ");
		else
			str_addf(&v->out, "%s          %s ", below, verb);
		view_path(v, &v->out, s->files[files->at[i]].path);
	}
	if (files->n > NAMES_SHOWN)
		str_addf(&v->out, " and %u more", files->n - NAMES_SHOWN);
	if (files->n)
		str_addc(&v->out, '\n');
}

static void add_step(struct dag *d, const struct substeps *s,
		     const struct substep *step, const uint32_t *numbers,
		     const char *below)
{
	struct view *v = d->view;
	struct str cell = STR_INIT;
	size_t start = v->out.len;
	size_t used;

	str_addf(&v->out, "%s   ", below);
	str_addf(&cell, ".%u", numbers[step - s->list]);
	view_cell_str(v, COLOR_DIM, &cell, 5);
	str_addf(&v->out, "%4u in %4u out  ", step->inputs.n, step->outputs.n);
	add_after(&v->out, step, numbers);
	used = view_columns(&v->out, start) + 6;
	view_cut(&v->out, step->command,
		 v->width > used + 20 ? v->width - used : 20);
	if (step->n_copies > 1)
		str_addf(&v->out, " x%u", step->n_copies);
	str_addc(&v->out, '\n');
	if (d->show_artifacts) {
		add_names(v, s, &step->inputs, below, "read");
		add_names(v, s, &step->outputs, below, "wrote");
	}
	str_release(&cell);
}

void dag_print_substeps(struct dag *d, size_t row, const char *below)
{
	const struct substeps *s = d->substeps ? &d->substeps[row] : NULL;
	const uint32_t *numbers;

	if (!s || !is_worth_showing(s))
		return;
	numbers = numbers_of(d, s);
	for (size_t i = 0; numbers && i < s->n; i++)
		if (!s->list[i].hidden)
			add_step(d, s, &s->list[i], numbers, below);
}

/* ---- JSON ---- */

static void json_names(struct json *j, const char *key,
		       const struct substeps *s,
		       const struct substep_list *files)
{
	json_put_key(j, key);
	json_put_array(j);
	for (uint32_t i = 0; i < files->n && i < NAMES_JSON; i++)
		json_put_string(j, s->files[files->at[i]].path);
	json_end(j);
}

static void json_step(struct json *j, const struct substeps *s,
		      const struct substep *step, const uint32_t *numbers)
{
	json_put_object(j);
	view_json_int(j, "number", numbers[step - s->list]);
	view_json_text(j, "command", step->command);
	view_json_int(j, "pid", s->processes[step->process].pid);
	view_json_int(j, "processes", step->n_processes);
	view_json_int(j, "copies", step->n_copies);
	view_json_int(j, "input_count", step->inputs.n);
	json_names(j, "inputs", s, &step->inputs);
	view_json_int(j, "output_count", step->outputs.n);
	json_names(j, "outputs", s, &step->outputs);
	json_put_key(j, "after");
	json_put_array(j);
	for (uint32_t i = 0; i < step->after.n; i++)
		json_put_int(j, numbers[step->after.at[i]]);
	json_end(j);
	json_end(j);
}

void dag_json_substeps(struct dag *d, struct json *j, size_t row)
{
	const struct substeps *s = d->substeps ? &d->substeps[row] : NULL;
	const uint32_t *numbers = s ? numbers_of(d, s) : NULL;

	if (!s)
		return;
	json_put_key(j, "substeps");
	json_put_array(j);
	for (size_t i = 0; numbers && is_worth_showing(s) && i < s->n; i++)
		if (!s->list[i].hidden)
			json_step(j, s, &s->list[i], numbers);
	json_end(j);
}
