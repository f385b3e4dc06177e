/* diff_report.c - what differs between two jobs, for people and programs; see diff.h */
#include <errno.h>
#include <string.h>

#include "base/quote.h"
#include "diff/diff.h"
#include "lineage/fold.h"
#include "show/show.h"
#include "ui/view.h"

enum { VALUE_WIDTH = 60, NAME_WIDTH = 24 };

/* ---- reading ---- */

static bool has_both(const struct job_diff_item *item)
{
	return item->file_a && item->file_b && !item->is_incidental;
}

static int compare_contents(struct diff *d, struct diff_report *r,
			    struct roar_error *err)
{
	struct job_diff *diff = &r->diff;

	r->contents = pool_zalloc(&d->view->pool,
				  (diff->n + 1) * sizeof(*r->contents));
	if (!r->contents)
		return -ENOMEM;
	r->n_differences = diff->n_differences;
	for (size_t i = 0; i < diff->n; i++) {
		const struct job_diff_item *item = &diff->items[i];

		if (item->kind != JOB_DIFF_OUTPUT || !has_both(item))
			continue;
		int x = diff_content_compare(d, item->file_a, item->file_b,
					     &r->contents[i], err);

		if (x < 0)
			return x;
		if (!r->contents[i].why_not &&
		    r->contents[i].result.verdict <= COMPARE_EQUAL)
			r->n_differences--;
	}
	return 0;
}

int diff_report_make(struct diff *d, const struct store_job *a,
		     const struct store_job *b, struct diff_report *ret,
		     struct roar_error *err)
{
	struct job_diff_side side_a = { .query = &d->view->query, .job = a };
	struct job_diff_side side_b = { .query = &d->view->query, .job = b };
	int r;

	*ret = (struct diff_report){ .job = { a, b } };
	r = job_diff_make(&side_a, &side_b, &d->view->pool, &ret->diff, err);
	if (r == 0)
		r = compare_contents(d, ret, err);
	if (r == 0)
		r = diff_code(ret, &d->view->pool);
	d->differs |= ret->n_differences > 0;
	return r;
}

void diff_report_release(struct diff_report *r)
{
	str_release(&r->code);
}

/* ---- text ---- */

void diff_job_name(struct diff *d, const struct store_job *job, struct str *out)
{
	view_step(out, job);
	str_addf(out, ".%lld", (long long)job->attempt);
	if (!d->view->has_session || job->session_id != d->view->session.id)
		str_addf(out, " of session %.8s",
			 view_session_uid(d->view, job->session_id));
}

static void add_job(struct diff *d, const char *sign, enum color color,
		    const struct store_job *job)
{
	struct view *v = d->view;
	struct str line = STR_INIT;

	str_addf(&line, "%s ", sign);
	diff_job_name(d, job, &line);
	str_addf(&line, " %s  ", job->uid);
	view_cut(&line, job->command,
		 v->width > line.len + 20 ? v->width - line.len : 20);
	term_add(&v->out, &v->term, color, str_cstr(&line));
	str_addc(&v->out, '\n');
	v->out.failed |= line.failed;
	str_release(&line);
}

static void add_value(struct diff *d, const char *value)
{
	if (value)
		view_cut(&d->view->out, value, d->all ? SIZE_MAX : VALUE_WIDTH);
	else
		str_adds(&d->view->out, "(none)");
}

static void add_hash(struct diff *d, const struct store_file *row)
{
	view_hash(&d->view->out, &row->digests);
}

static void add_file(struct diff *d, const struct job_diff_item *item,
		     const struct diff_content *content)
{
	struct str *out = &d->view->out;

	view_path(d->view, out, item->name);
	if (!item->file_a || !item->file_b) {
		str_adds(out, item->file_a ? "  only in the first  " :
					     "  only in the second  ");
		add_hash(d, item->file_a ? item->file_a : item->file_b);
		return;
	}
	if (strcmp(item->a, item->b) != 0) {
		str_adds(out, " -> ");
		view_path(d->view, out, item->b);
	}
	str_adds(out, "  ");
	add_hash(d, item->file_a);
	if (item->is_incidental) {
		str_adds(out, "  the same content");
		return;
	}
	str_adds(out, " -> ");
	add_hash(d, item->file_b);
	if (item->kind == JOB_DIFF_OUTPUT) {
		str_adds(out, "\n    ");
		diff_content_text(d, content);
	}
}

static void add_fact(struct diff *d, const struct job_diff_item *item)
{
	struct str *out = &d->view->out;
	size_t start = out->len;

	quote_printable_cut(out, item->name, VALUE_WIDTH);
	view_pad(out, start, NAME_WIDTH);
	str_adds(out, "  ");
	add_value(d, item->a);
	str_adds(out, " -> ");
	add_value(d, item->b);
}

/* One line of a diff, which has whatever a file has. */
static void add_code_line(struct diff *d, const char *line, size_t len)
{
	struct view *v = d->view;
	struct str text = STR_INIT;
	enum color color = len && line[0] == '+' ? COLOR_GREEN :
			   len && line[0] == '-' ? COLOR_RED :
						   COLOR_NONE;

	for (size_t from = 0; from <= len;) {
		const char *tab = memchr(line + from, '\t', len - from);
		size_t n = tab ? (size_t)(tab - line) - from : len - from;

		quote_printable(&text, line + from, n);
		if (tab)
			str_addc(&text, '\t');
		from += n + 1;
	}
	str_adds(&v->out, "    ");
	term_add(&v->out, &v->term, color, str_cstr(&text));
	str_addc(&v->out, '\n');
	v->out.failed |= text.failed;
	str_release(&text);
}

static void add_code(struct diff *d, const struct str *code)
{
	const char *at = str_cstr(code), *end = at + code->len;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;

		add_code_line(d, at, (size_t)(stop - at));
		at = stop + 1;
	}
}

static bool is_shown(const struct diff *d, const struct job_diff_item *item)
{
	return !item->is_incidental || d->all ||
	       item->kind == JOB_DIFF_RESULT || item->file_a;
}

static void add_kind(struct diff *d, const struct diff_report *r,
		     enum job_diff_kind kind)
{
	struct view *v = d->view;
	uint64_t n = 0, n_shown = 0;

	for (size_t i = 0; i < r->diff.n; i++) {
		const struct job_diff_item *item = &r->diff.items[i];

		if (item->kind != kind || !is_shown(d, item))
			continue;
		if (n++ == 0) {
			str_addc(&v->out, '\n');
			term_add(&v->out, &v->term, COLOR_BOLD,
				 job_diff_kind_name(kind));
			str_addc(&v->out, '\n');
		}
		if (n > SHOW_ROWS && !d->all)
			continue;
		n_shown++;
		str_adds(&v->out, "  ");
		if (item->file_a || item->file_b)
			add_file(d, item, &r->contents[i]);
		else
			add_fact(d, item);
		str_addc(&v->out, '\n');
	}
	show_more(v, n, n_shown);
	if (kind == JOB_DIFF_CODE)
		add_code(d, &r->code);
}

void diff_report_text(struct diff *d, const struct diff_report *r)
{
	add_job(d, "---", COLOR_RED, r->job[0]);
	add_job(d, "+++", COLOR_GREEN, r->job[1]);
	for (int kind = 0; kind < JOB_DIFF_KIND_END; kind++)
		add_kind(d, r, kind);
	if (r->n_differences == 0)
		str_adds(&d->view->out, "\nNo differences.\n");
}

/* ---- JSON ---- */

static void put_hash(struct json *j, const char *key,
		     const struct store_file *row)
{
	struct digests none = { 0 };

	view_json_digests(j, key, row ? &row->digests : &none);
}

static void put_item(struct json *j, const struct job_diff_item *item,
		     const struct diff_content *content)
{
	json_put_object(j);
	view_json_text(j, "kind", job_diff_kind_name(item->kind));
	view_json_text(j, "name", item->name);
	view_json_text(j, "a", item->a);
	view_json_text(j, "b", item->b);
	view_json_bool(j, "incidental", item->is_incidental);
	if (item->file_a || item->file_b) {
		put_hash(j, "digests_a", item->file_a);
		put_hash(j, "digests_b", item->file_b);
	}
	if (item->kind == JOB_DIFF_OUTPUT && has_both(item))
		diff_content_json(j, content);
	json_end(j);
}

void diff_report_json(struct diff *d, const struct diff_report *r,
		      struct json *j)
{
	for (int i = 0; i < 2; i++) {
		view_json_job_ref(d->view, j, i ? "job_b" : "job_a", r->job[i]);
		view_json_int(j, i ? "attempt_b" : "attempt_a",
			      r->job[i]->attempt);
	}
	json_put_key(j, "differences");
	json_put_array(j);
	for (size_t i = 0; i < r->diff.n; i++)
		put_item(j, &r->diff.items[i], &r->contents[i]);
	json_end(j);
	json_put_key(j, "code");
	if (r->code.len)
		json_put_bytes(j, r->code.data, r->code.len);
	else
		json_put_null(j);
}

int diff_jobs(struct diff *d, const struct store_job *a,
	      const struct store_job *b, struct roar_error *err)
{
	CLEANUP(diff_report_release) struct diff_report report = { 0 };
	struct json j = json_writer(&d->view->out, true);
	int r = diff_report_make(d, a, b, &report, err);

	if (r < 0)
		return r;
	if (!d->json) {
		diff_report_text(d, &report);
		return 0;
	}
	json_put_object(&j);
	view_json_text(&j, "compared", "jobs");
	view_json_bool(&j, "same", !d->differs);
	diff_report_json(d, &report, &j);
	json_end(&j);
	str_addc(&d->view->out, '\n');
	return 0;
}
