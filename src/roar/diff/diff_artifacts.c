/* diff_artifacts.c - two contents, two collections of them, two files */
#include <errno.h>
#include <string.h>

#include "diff/diff.h"
#include "query/collection.h"
#include "query/producer.h"
#include "query/target.h"
#include "show/show.h"
#include "ui/view.h"

/* ---- contents ---- */

static void add_artifact(struct diff *d, const char *sign,
			 const struct target *t)
{
	struct view *v = d->view;

	str_addf(&v->out, "%s ", sign);
	view_hash(&v->out, &t->artifact.digests);
	str_adds(&v->out, "  ");
	format_size(&v->out, (uint64_t)t->artifact.size);
	str_adds(&v->out, "  ");
	view_path(v, &v->out, t->path ? t->path : t->artifact.first_path);
	str_addc(&v->out, '\n');
}

static void add_contents(struct diff *d, const struct target *a,
			 const struct target *b,
			 const struct diff_content *content,
			 const struct diff_report *made)
{
	add_artifact(d, "---", a);
	add_artifact(d, "+++", b);
	str_adds(&d->view->out, "  ");
	diff_content_text(d, content);
	str_addc(&d->view->out, '\n');
	if (!made)
		return;
	str_adds(&d->view->out, "\nMade by\n");
	diff_report_text(d, made);
}

static void put_contents(struct diff *d, const struct target *a,
			 const struct target *b,
			 const struct diff_content *content,
			 const struct diff_report *made)
{
	struct json j = json_writer(&d->view->out, true);

	json_put_object(&j);
	view_json_text(&j, "compared", "artifacts");
	view_json_bool(&j, "same", !d->differs);
	view_json_digests(&j, "digests_a", &a->artifact.digests);
	view_json_digests(&j, "digests_b", &b->artifact.digests);
	diff_content_json(&j, content);
	json_put_key(&j, "made_by");
	if (made) {
		json_put_object(&j);
		diff_report_json(d, made, &j);
		json_end(&j);
	} else {
		json_put_null(&j);
	}
	json_end(&j);
	str_addc(&d->view->out, '\n');
}

int diff_artifacts(struct diff *d, const struct target *a,
		   const struct target *b, struct roar_error *err)
{
	CLEANUP(diff_report_release) struct diff_report report = { 0 };
	struct query *q = &d->view->query;
	const struct store_job *made_a, *made_b;
	struct diff_content content = { .result.format = "bytes" };
	bool is_same = a->artifact.id == b->artifact.id;
	int r = is_same ? 0 : diff_content_artifacts(d, a, b, &content, err);

	if (r == 0)
		r = producer_find_newest(q, a->artifact.id, a->path, &made_a,
					 err);
	if (r == 0)
		r = producer_find_newest(q, b->artifact.id, b->path, &made_b,
					 err);
	if (r < 0)
		return r;
	bool made = made_a && made_b && made_a->id != made_b->id;

	if (made)
		r = diff_report_make(d, made_a, made_b, &report, err);
	if (r < 0)
		return r;
	/* How it was made is told; the content decides. */
	d->differs = !is_same && (content.why_not ||
				  content.result.verdict > COMPARE_EQUAL);
	if (d->json)
		put_contents(d, a, b, &content, made ? &report : NULL);
	else
		add_contents(d, a, b, &content, made ? &report : NULL);
	return 0;
}

int diff_paths(struct diff *d, const char *a, const char *b,
	       struct roar_error *err)
{
	struct str *out = &d->view->out;
	struct json j = json_writer(out, true);
	struct compare_result result;
	int r = compare_paths(a, b, &d->compare, &result, err);

	if (r < 0)
		return r;
	d->differs = result.verdict > COMPARE_EQUAL;
	if (!d->json) {
		compare_describe(&result, out);
		str_addc(out, '\n');
		return 0;
	}
	json_put_object(&j);
	view_json_text(&j, "compared", "files");
	view_json_bool(&j, "same", !d->differs);
	json_put_key(&j, "content");
	compare_put_json(&result, &j);
	json_end(&j);
	str_addc(out, '\n');
	return 0;
}

/* ---- collections ---- */

struct walk {
	struct diff *d;
	struct json *j;
	uint64_t n, n_shown;
};

static void put_hash(struct json *j, const char *key,
		     const struct store_member *m)
{
	struct digests digests = { .have = m ? DIGEST_SET_BLAKE3 : 0 };

	if (m)
		memcpy(digests.blake3, m->blake3, BLAKE3_LEN);
	view_json_digests(j, key, &digests);
}

static int note_member(void *ctx, enum member_change change,
		       const struct store_member *a,
		       const struct store_member *b)
{
	static const char *const words[] = {
		[MEMBER_ADDED] = "  only in the second\n",
		[MEMBER_REMOVED] = "  only in the first\n",
		[MEMBER_CHANGED] = "  changed\n",
	};
	struct walk *w = ctx;
	struct view *v = w->d->view;

	w->n++;
	if (w->j) {
		json_put_object(w->j);
		view_json_text(w->j, "name", (a ? a : b)->name);
		put_hash(w->j, "digests_a", a);
		put_hash(w->j, "digests_b", b);
		json_end(w->j);
		return 0;
	}
	if (w->n > SHOW_ROWS && !w->d->all)
		return 0;
	w->n_shown++;
	str_adds(&v->out, "  ");
	view_path(v, &v->out, (a ? a : b)->name);
	str_adds(&v->out, words[change]);
	return 0;
}

static void add_collection(struct diff *d, const char *sign,
			   const struct store_collection *c)
{
	struct str *out = &d->view->out;

	str_addf(out, "%s %s of ", sign, collection_kind_name(c->kind));
	format_count(out, (uint64_t)c->n_members, "file");
	str_adds(out, "  ");
	view_path(d->view, out, c->path);
	str_addc(out, '\n');
}

int diff_collections(struct diff *d, const struct store_collection *a,
		     const struct store_collection *b, struct roar_error *err)
{
	struct view *v = d->view;
	struct json j = json_writer(&v->out, true);
	struct walk w = { .d = d, .j = d->json ? &j : NULL };
	struct member_diff counts;
	int r;

	if (d->json) {
		json_put_object(&j);
		view_json_text(&j, "compared", "collections");
		json_put_key(&j, "members");
		json_put_array(&j);
	} else {
		add_collection(d, "---", a);
		add_collection(d, "+++", b);
	}
	r = collection_diff(&v->query, a->id, b->id, note_member, &w, &counts,
			    err);
	d->differs = w.n > 0;
	if (d->json) {
		json_end(&j);
		view_json_bool(&j, "same", !d->differs);
		json_end(&j);
		str_addc(&v->out, '\n');
	} else {
		show_more(v, w.n, w.n_shown);
		if (!d->differs)
			str_adds(&v->out, "\nNo differences.\n");
	}
	return r;
}
