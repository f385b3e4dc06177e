/* show_tags.c - see show_tags.h */
#include "show/show_tags.h"

#include <errno.h>
#include <string.h>

#include "base/quote.h"
#include "lineage/tag.h"
#include "query/pipeline.h"
#include "show/show.h"
#include "ui/view.h"

/* ---- reading ---- */

static int read_carried(struct view *v, const struct store_job *job,
			const struct job_tag *given, size_t n,
			struct show_tags *ret, struct roar_error *err)
{
	CLEANUP(pool_release) struct pool scratch = POOL_INIT;
	CLEANUP(pipeline_release) struct pipeline p = PIPELINE_INIT;
	struct query q = { .store = v->store, .pool = &scratch };
	int r;

	r = pipeline_load(&q, job->session_id, PIPELINE_NO_JOBS, &p, err);
	return r < 0 ? r :
		       tags_of_outputs(p.graph, job->id, given, n, &v->pool,
				       &ret->carried, &ret->n_carried);
}

int show_tags_read(struct view *v, const struct store_job *job,
		   struct show_tags *ret, struct roar_error *err)
{
	struct job_tag *given;
	size_t n;
	int r = store_session_tags(v->store, &v->pool, job->session_id, &given,
				   &n, err);

	*ret = (struct show_tags){ 0 };
	if (r < 0 || !n)
		return r;
	ret->blocked = pool_alloc(&v->pool, n * sizeof(*ret->blocked));
	if (!ret->blocked)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (given[i].job_id == job->id &&
		    given[i].tag.action == TAG_BLOCK)
			ret->blocked[ret->n_blocked++] = given[i];
	return read_carried(v, job, given, n, ret, err);
}

/* ---- text ---- */

static bool same_value(const struct job_tag *a, const struct job_tag *b)
{
	return strcmp(a->tag.kind, b->tag.kind) == 0 &&
	       strcmp(a->tag.value, b->tag.value) == 0;
}

static void add_tag(struct str *out, const struct tag *tag)
{
	quote_printable(out, tag->kind, strlen(tag->kind));
	if (!tag->value[0])
		return;
	str_addc(out, '=');
	quote_printable(out, tag->value, strlen(tag->value));
}

static int add_source(struct view *v, const struct job_tag *t, int64_t here,
		      struct roar_error *err)
{
	const struct store_job *job;
	int r = query_job(&v->query, t->job_id, &job, err);

	if (r < 0)
		return r;
	if (t->job_id == here) {
		str_adds(&v->out, "added here");
	} else if (job) {
		str_adds(&v->out, "from ");
		view_step_full(v, &v->out, job);
		str_addf(&v->out, " %s", job->uid);
	}
	if (t->tag.origin == TAG_SYSTEM)
		str_adds(&v->out, " (found by roar)");
	return 0;
}

/* The entries of one value, from `at`; returns where the next one begins. */
static size_t value_end(const struct show_tags *tags, size_t at)
{
	size_t end = at + 1;

	while (end < tags->n_carried &&
	       same_value(&tags->carried[at], &tags->carried[end]))
		end++;
	return end;
}

static int add_value(struct view *v, const struct show_tags *tags, size_t at,
		     size_t end, int64_t here, struct roar_error *err)
{
	int r = 0;

	add_tag(&v->out, &tags->carried[at].tag);
	for (size_t i = at; r >= 0 && i < end; i++) {
		str_adds(&v->out, i > at ? ", " : "  ");
		r = add_source(v, &tags->carried[i], here, err);
	}
	str_addc(&v->out, '\n');
	return r;
}

static void add_blocked(struct view *v, const struct show_tags *tags)
{
	if (!tags->n_blocked)
		return;
	view_label(v, "Blocked:");
	for (size_t i = 0; i < tags->n_blocked; i++) {
		str_adds(&v->out, i ? ", " : "");
		add_tag(&v->out, &tags->blocked[i].tag);
	}
	str_addc(&v->out, '\n');
}

int show_tags_text(struct view *v, const struct show_tags *tags, int64_t here,
		   const struct show_options *o, struct roar_error *err)
{
	uint64_t n = 0;
	uint64_t shown = 0;
	int r = 0;

	for (size_t at = 0, end; r >= 0 && at < tags->n_carried; at = end) {
		end = value_end(tags, at);
		n++;
		if (shown >= SHOW_ROWS && !o->all)
			continue;
		view_label(v, shown++ ? "" : "Tags:");
		r = add_value(v, tags, at, end, here, err);
	}
	show_more(v, n, shown);
	add_blocked(v, tags);
	return r;
}

/* ---- JSON ---- */

static void json_tag(struct json *j, const struct tag *tag)
{
	view_json_text(j, "kind", tag->kind);
	view_json_text(j, "value", tag->value[0] ? tag->value : NULL);
}

int show_tags_json(struct view *v, const struct show_tags *tags, struct json *j,
		   struct roar_error *err)
{
	int r = 0;

	json_put_key(j, "tags");
	json_put_array(j);
	for (size_t i = 0; r >= 0 && i < tags->n_carried; i++) {
		const struct job_tag *t = &tags->carried[i];
		const struct store_job *job;

		r = query_job(&v->query, t->job_id, &job, err);
		if (r < 0)
			break;
		json_put_object(j);
		json_tag(j, &t->tag);
		view_json_text(j, "origin", tag_origin_name(t->tag.origin));
		view_json_job_ref(v, j, "from", job);
		json_end(j);
	}
	json_end(j);
	return r;
}

void show_tags_json_blocked(const struct show_tags *tags, struct json *j)
{
	json_put_key(j, "blocked_tags");
	json_put_array(j);
	for (size_t i = 0; i < tags->n_blocked; i++) {
		json_put_object(j);
		json_tag(j, &tags->blocked[i].tag);
		json_end(j);
	}
	json_end(j);
}
