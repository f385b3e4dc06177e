/* diff_sessions.c - which steps of two sessions differ, and in what
 *
 * Steps are matched by their command, then by their outputs (lineage/step.h): the numbers
 * of two sessions mean nothing to each other.  Of each step the latest execution counts. */
#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "diff/diff.h"
#include "show/show.h"
#include "ui/view.h"

struct side {
	struct store_job *jobs;
	const struct store_job **other; /* of each job; NULL: only here */
	size_t n;
};

static int read_side(struct diff *d, const struct store_session *session,
		     struct side *ret, struct roar_error *err)
{
	struct view *v = d->view;
	const struct store_job_query query = { .session_id = session->id,
					       .latest_only = true };
	int r = store_jobs(v->store, &v->pool, &query, &ret->jobs, &ret->n,
			   err);

	if (r < 0)
		return r;
	ret->other = pool_zalloc(&v->pool, (ret->n + 1) * sizeof(const void *));
	return ret->other ? 0 : -ENOMEM;
}

static const uint8_t *identity(const struct store_job *job, bool by_output)
{
	static const uint8_t none[sizeof(job->output_id)];

	if (!by_output)
		return job->command_id;
	return memcmp(job->output_id, none, sizeof(none)) ? job->output_id :
							    NULL;
}

/* Pairs what is not paired yet. */
static int match(struct side *a, struct side *b, bool by_output)
{
	enum { LEN = sizeof(((struct store_job *)0)->command_id) };
	CLEANUP(map_release) struct map of_b = MAP_INIT;
	int r = 0;

	for (size_t k = b->n; r == 0 && k-- > 0;) {
		const uint8_t *id = identity(&b->jobs[k], by_output);

		if (id && !b->other[k])
			r = map_set(&of_b, id, LEN, &b->jobs[k]);
	}
	for (size_t i = 0; r == 0 && i < a->n; i++) {
		const uint8_t *id = identity(&a->jobs[i], by_output);
		struct store_job *found = NULL;

		if (id && !a->other[i])
			found = map_remove(&of_b, id, LEN);
		if (!found)
			continue;
		a->other[i] = found;
		b->other[found - b->jobs] = &a->jobs[i];
	}
	return r;
}

static void add_step(struct diff *d, const struct store_job *a,
		     const struct store_job *b, const struct diff_report *r)
{
	struct str *out = &d->view->out;
	const char *before = "";

	str_adds(out, "  ");
	view_step(out, a ? a : b);
	if (a && b) {
		str_adds(out, " -> ");
		view_step(out, b);
	}
	str_adds(out, "  ");
	if (!a || !b)
		str_adds(out, a ? "only in the first" : "only in the second");
	else if (r->n_differences == 0)
		str_adds(out, "the same");
	for (int kind = 0; r && r->n_differences && kind < JOB_DIFF_KIND_END;
	     kind++) {
		if (!r->diff.n_of[kind])
			continue;
		str_addf(out, "%s%s %zu", before, job_diff_kind_name(kind),
			 r->diff.n_of[kind]);
		before = ", ";
	}
	str_adds(out, "  ");
	view_cut(out, (a ? a : b)->command, 60);
	str_addc(out, '\n');
}

static void put_step(struct diff *d, struct json *j, const struct store_job *a,
		     const struct store_job *b, const struct diff_report *r)
{
	json_put_object(j);
	if (r) {
		view_json_bool(j, "same", r->n_differences == 0);
		diff_report_json(d, r, j);
	} else {
		view_json_bool(j, "same", false);
		view_json_job_ref(d->view, j, "job_a", a);
		view_json_job_ref(d->view, j, "job_b", b);
	}
	json_end(j);
}

static int diff_step(struct diff *d, struct json *j, const struct store_job *a,
		     const struct store_job *b, struct roar_error *err)
{
	CLEANUP(diff_report_release) struct diff_report report = { 0 };
	bool both = a && b;
	int r = both ? diff_report_make(d, a, b, &report, err) : 0;

	if (r < 0)
		return r;
	d->differs |= !both;
	if (d->json)
		put_step(d, j, a, b, both ? &report : NULL);
	else
		add_step(d, a, b, both ? &report : NULL);
	return 0;
}

static void add_session(struct diff *d, const char *sign,
			const struct store_session *s)
{
	str_addf(&d->view->out, "%s session %s, ", sign, s->uid);
	format_count(&d->view->out, (uint64_t)s->n_steps, "step");
	str_addc(&d->view->out, '\n');
}

int diff_sessions(struct diff *d, const struct store_session *a,
		  const struct store_session *b, struct roar_error *err)
{
	struct view *v = d->view;
	struct json j = json_writer(&v->out, true);
	struct side x = { 0 }, y = { 0 };
	int r = read_side(d, a, &x, err);

	if (r == 0)
		r = read_side(d, b, &y, err);
	if (r == 0)
		r = match(&x, &y, false);
	if (r == 0)
		r = match(&x, &y, true);
	if (r < 0)
		return r;
	if (d->json) {
		json_put_object(&j);
		view_json_text(&j, "compared", "sessions");
		view_json_text(&j, "session_a", a->uid);
		view_json_text(&j, "session_b", b->uid);
		json_put_key(&j, "steps");
		json_put_array(&j);
	} else {
		add_session(d, "---", a);
		add_session(d, "+++", b);
	}
	for (size_t i = 0; r == 0 && i < x.n; i++)
		r = diff_step(d, &j, &x.jobs[i], x.other[i], err);
	for (size_t k = 0; r == 0 && k < y.n; k++)
		if (!y.other[k])
			r = diff_step(d, &j, NULL, &y.jobs[k], err);
	if (d->json) {
		json_end(&j);
		view_json_bool(&j, "same", !d->differs);
		json_end(&j);
		str_addc(&v->out, '\n');
	} else if (!d->differs) {
		str_adds(&v->out, "\nNo differences.\n");
	}
	return r;
}
