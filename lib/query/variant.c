/* variant.c - see variant.h */
#include "query/variant.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "base/path.h"
#include "base/quote.h"
#include "base/str.h"
#include "lineage/fold.h"
#include "query/query.h"
#include "store/store.h"

enum { NAMED = 3 };

static const enum job_diff_kind kinds[] = { JOB_DIFF_PARAMETER, JOB_DIFF_CODE,
					    JOB_DIFF_INPUT };

enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

int variant_find(struct query *q, const struct store_job *job,
		 int64_t max_inputs, struct variant *ret,
		 struct roar_error *err)
{
	struct store_job_query query = {
		.session_id = job->session_id,
		.kind = job->kind,
		.step = job->step,
		.attempt = job->attempt - 1,
	};
	struct job_diff_side before = { .query = q };
	struct job_diff_side now = { .query = q, .job = job };
	struct store_job *jobs;
	unsigned wanted = 0;
	size_t n;
	int r;

	*ret = (struct variant){ 0 };
	if (job->attempt <= 1)
		return 0;
	r = store_jobs(q->store, q->pool, &query, &jobs, &n, err);
	if (r < 0 || !n ||
	    (max_inputs &&
	     (job->n_inputs > max_inputs || jobs->n_inputs > max_inputs)))
		return r;
	for (size_t i = 0; i < N_KINDS; i++)
		wanted |= 1U << kinds[i];
	before.job = jobs;
	ret->before = jobs;
	return job_diff_make_of(&before, &now, wanted, q->pool, &ret->diff,
				err);
}

bool variant_item_counts(const struct job_diff_item *item)
{
	return !item->is_incidental && item->kind <= JOB_DIFF_INPUT &&
	       (item->kind != JOB_DIFF_CODE || item->file_a || item->file_b);
}

bool variant_has(const struct variant *v, enum job_diff_kind kind)
{
	for (size_t i = 0; i < v->diff.n; i++)
		if (v->diff.items[i].kind == kind &&
		    variant_item_counts(&v->diff.items[i]))
			return true;
	return false;
}

bool variant_is_one(const struct variant *v)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (variant_has(v, kinds[i]))
			return true;
	return false;
}

/* " (a, b, 3 more)" */
static void add_names(const struct variant *v, enum job_diff_kind kind,
		      struct str *out)
{
	size_t n = 0;

	for (size_t i = 0; i < v->diff.n; i++) {
		const struct job_diff_item *item = &v->diff.items[i];
		const char *name = item->file_a || item->file_b ?
					   path_basename(item->name) :
					   item->name;

		if (item->kind != kind || !variant_item_counts(item))
			continue;
		if (n < NAMED) {
			str_adds(out, n ? ", " : " (");
			quote_name(out, name, strlen(name));
		}
		n++;
	}
	if (n > NAMED)
		str_addf(out, ", %zu more", n - NAMED);
	str_adds(out, n ? ")" : "");
}

void variant_words(const struct variant *v, bool names, struct str *out)
{
	size_t n = 0;

	for (size_t i = 0; i < N_KINDS; i++) {
		if (!variant_has(v, kinds[i]))
			continue;
		str_adds(out, n++ ? ", " : "");
		str_adds(out, job_diff_kind_name(kinds[i]));
		if (names)
			add_names(v, kinds[i], out);
	}
}

/* ---- restored executions ---- */

bool variant_is_restored(const struct store_job *job)
{
	return strcmp(job->tracer, "restore") == 0;
}

/* Do the outputs of the job have the contents of `restored`, by path? */
static int has_outputs(struct query *q, const struct store_job *job,
		       const struct store_file *restored, size_t n_restored,
		       struct roar_error *err)
{
	CLEANUP(map_release) struct map outputs = MAP_INIT;
	struct store_file *files;
	size_t n;
	int r = store_files(q->store, q->pool, job->id, false, &files, &n, err);

	for (size_t i = 0; r >= 0 && i < n; i++)
		if (files[i].role == LINEAGE_OUTPUT)
			r = map_set(&outputs, files[i].path,
				    strlen(files[i].path), &files[i]);
	for (size_t i = 0; r >= 0 && i < n_restored; i++) {
		const struct store_file *row = &restored[i];
		const struct store_file *other = map_get(&outputs, row->path,
							 strlen(row->path));

		if (row->role == LINEAGE_OUTPUT &&
		    (!other || other->artifact_id != row->artifact_id))
			return 0;
	}
	return r < 0 ? r : 1;
}

int variant_restored_from(struct query *q, const struct store_job *job,
			  const struct store_job **ret, struct roar_error *err)
{
	struct store_job_query query = {
		.session_id = job->session_id,
		.kind = job->kind,
		.step = job->step,
	};
	struct store_file *files;
	struct store_job *jobs;
	size_t n_files;
	size_t n;
	int r = store_files(q->store, q->pool, job->id, false, &files, &n_files,
			    err);

	*ret = NULL;
	if (r >= 0)
		r = store_jobs(q->store, q->pool, &query, &jobs, &n, err);
	while (r >= 0 && !*ret && n-- > 0) {
		if (jobs[n].attempt >= job->attempt ||
		    variant_is_restored(&jobs[n]) || jobs[n].exit_code ||
		    !jobs[n].complete)
			continue;
		r = has_outputs(q, &jobs[n], files, n_files, err);
		if (r > 0)
			*ret = &jobs[n];
	}
	return r < 0 ? r : 0;
}
