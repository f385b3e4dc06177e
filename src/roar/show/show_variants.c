/* show_variants.c - see show_variants.h */
#include "show/show_variants.h"

#include <string.h>

#include "base/clock.h"
#include "query/variant.h"
#include "show/show.h"
#include "ui/view.h"

enum { LAST = 10 }; /* executions shown without --all */

void show_variant_ref(struct str *out, const struct store_job *job)
{
	view_step(out, job);
	str_addf(out, ".%lld", (long long)job->attempt);
}

static int read_executions(struct view *v, const struct store_job *job,
			   const struct show_options *o, struct store_job **ret,
			   size_t *ret_n, struct roar_error *err)
{
	struct store_job_query query = {
		.session_id = job->session_id,
		.kind = job->kind,
		.step = job->step,
		.limit = o->all ? 0 : LAST,
	};

	return store_jobs(v->store, &v->pool, &query, ret, ret_n, err);
}

static void add_execution(struct view *v, const struct store_job *job,
			  const struct variant *variant)
{
	struct str cell = STR_INIT;

	str_adds(&v->out, "  ");
	show_variant_ref(&cell, job);
	view_cell_str(v, COLOR_BOLD, &cell, 8);
	view_cell(v, COLOR_YELLOW, job->uid, 10);
	str_clear(&cell);
	clock_format(&cell, job->started_ns);
	view_cell_str(v, COLOR_NONE, &cell, 21);
	str_clear(&cell);
	view_status(&cell, job);
	view_cell_str(v, view_status_color(job), &cell, 7);
	if (!variant->before)
		str_addc(&v->out, '-');
	else if (!variant_is_one(variant))
		str_adds(&v->out, "as before");
	else
		variant_words(variant, true, &v->out);
	str_addc(&v->out, '\n');
	str_release(&cell);
}

int show_variants_text(struct view *v, const struct store_job *job,
		       const struct show_options *o, struct roar_error *err)
{
	struct store_job *jobs;
	size_t n;
	int r = read_executions(v, job, o, &jobs, &n, err);

	if (r < 0 || !n || jobs[n - 1].attempt < 2)
		return r;
	str_addc(&v->out, '\n');
	term_add(&v->out, &v->term, COLOR_BOLD, "Executions");
	str_addf(&v->out, " (%lld)\n", (long long)jobs[n - 1].attempt);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct variant variant;

		r = variant_find(&v->query, &jobs[i], 0, &variant, err);
		if (r >= 0)
			add_execution(v, &jobs[i], &variant);
	}
	return r;
}

/* ---- JSON ---- */

static void json_names(struct json *j, const struct variant *v,
		       enum job_diff_kind kind)
{
	json_put_key(j, job_diff_kind_name(kind));
	json_put_array(j);
	for (size_t i = 0; i < v->diff.n; i++)
		if (v->diff.items[i].kind == kind &&
		    variant_item_counts(&v->diff.items[i]))
			json_put_string(j, v->diff.items[i].name);
	json_end(j);
}

static int json_execution(struct view *v, struct json *j,
			  const struct store_job *job, struct roar_error *err)
{
	CLEANUP(str_release) struct str ref = STR_INIT;
	struct variant variant;
	int r = variant_find(&v->query, job, 0, &variant, err);

	if (r < 0)
		return r;
	show_variant_ref(&ref, job);
	json_put_object(j);
	view_json_text(j, "execution_ref", str_cstr(&ref));
	view_json_text(j, "job_uid", job->uid);
	view_json_time(j, "started_at", job->started_ns);
	view_json_text(j, "status", view_status_word(job));
	json_put_key(j, "differs_in");
	if (variant.before) {
		json_put_object(j);
		for (int kind = 0; kind <= JOB_DIFF_INPUT; kind++)
			if (variant_has(&variant, kind))
				json_names(j, &variant, kind);
		json_end(j);
	} else {
		json_put_null(j);
	}
	json_end(j);
	return 0;
}

int show_variants_json(struct view *v, struct json *j,
		       const struct store_job *job,
		       const struct show_options *o, struct roar_error *err)
{
	struct store_job *jobs;
	size_t n;
	int r = read_executions(v, job, o, &jobs, &n, err);

	json_put_key(j, "variants");
	json_put_array(j);
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = json_execution(v, j, &jobs[i], err);
	json_end(j);
	return r;
}

/* ---- in lists ---- */

static bool find_for_list(struct view *v, const struct store_job *job,
			  size_t n_rows, struct variant *ret)
{
	struct roar_error err = { 0 };

	*ret = (struct variant){ 0 };
	return n_rows <= VARIANT_LIST_ROWS &&
	       variant_find(&v->query, job, VARIANT_LIST_INPUTS, ret, &err) >=
		       0 &&
	       ret->before;
}

void show_variant_mark(struct view *v, const struct store_job *job,
		       size_t n_rows, struct str *out)
{
	struct variant variant;

	if (!find_for_list(v, job, n_rows, &variant) ||
	    !variant_is_one(&variant))
		return;
	str_addc(out, '[');
	variant_words(&variant, false, out);
	str_adds(out, "] ");
}

void show_variant_json(struct view *v, struct json *j,
		       const struct store_job *job, size_t n_rows)
{
	struct variant variant;

	json_put_key(j, "differs_in");
	if (!find_for_list(v, job, n_rows, &variant)) {
		json_put_null(j);
		return;
	}
	json_put_array(j);
	for (int kind = 0; kind <= JOB_DIFF_INPUT; kind++)
		if (variant_has(&variant, kind))
			json_put_string(j, job_diff_kind_name(kind));
	json_end(j);
}
