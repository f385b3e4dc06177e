/* status.c - `roar status`: where the active session stands.
 *
 * Runs at the prompt of people who type it often: one look at the record, one
 * stat(2) for each output and input.  Of a thousand jobs only the last one is read in full
 * (JSON names the makers of files too), and without files there is no graph to
 * make. */
#include "commands.h"
#include "hash/user_cache.h"
#include "query/outdated_steps.h"
#include "query/pipeline.h"
#include "query/presence.h"
#include "ui/view.h"

enum {
	ROWS = 40, /* artifacts listed as text */
	READ_MAX = 4 << 20, /* bytes of files that are read to compare them */
};

struct tracked {
	const struct graph_artifact *artifact;
	const struct store_file *row;
	enum presence presence;
};

struct status {
	struct view *view;
	struct store_job *last; /* NULL: the session has no job */
	struct pipeline pipeline;
	struct outdated_steps outdated;
	char hash[2 * BLAKE3_LEN + 1];
	struct tracked *tracked;
	size_t n_tracked;
	size_t n_with[PRESENCE_END];
	uint64_t bytes; /* of all tracked artifacts */
};

/* ---- reading ---- */

/* The outputs as they should stand on disk: what no later job replaced. */
static bool is_tracked(const struct graph_artifact *a)
{
	return a->producer != GRAPH_NONE &&
	       (a->state == GRAPH_ACTIVE || a->state == GRAPH_STALE);
}

static int look_at_artifacts(struct status *s)
{
	struct pipeline *p = &s->pipeline;
	CLEANUP(presence_look_release)
	struct presence_look look = { .budget = READ_MAX,
				      .open_cache = user_cache_open,
				      .pool = &s->view->pool };

	s->tracked = pool_alloc(&s->view->pool,
				(p->n_artifacts + 1) * sizeof(*s->tracked));
	if (!s->tracked)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_artifacts; i++) {
		const struct graph_artifact *a = &p->artifacts[i];
		const struct store_file *row = pipeline_written(p, a);
		struct tracked *t = &s->tracked[s->n_tracked];

		if (!is_tracked(a) || !row)
			continue;
		t->artifact = a;
		t->row = row;
		t->presence = presence_check(&look, row);
		if (t->presence == PRESENCE_MISSING &&
		    pipeline_moved_away(p, row))
			continue;
		s->n_with[t->presence]++;
		s->bytes += (uint64_t)a->size;
		s->n_tracked++;
	}
	return outdated_steps_find(p, &look, &s->view->pool, &s->outdated);
}

static int read_last_job(struct status *s, struct roar_error *err)
{
	struct view *v = s->view;
	struct store_job_query newest = {
		.session_id = v->session.id,
		.limit = 1,
	};
	struct store_job *jobs;
	size_t n;
	int r;

	r = store_jobs(v->store, &v->pool, &newest, &jobs, &n, err);
	if (r >= 0 && n)
		s->last = jobs;
	return r;
}

static int read_status(struct status *s, bool json, struct roar_error *err)
{
	struct view *v = s->view;
	uint8_t hash[BLAKE3_LEN];
	int r;

	if (!v->has_session)
		return 0;
	r = store_session_hash(v->store, v->session.id, hash, err);
	if (r < 0)
		return r;
	digest_hex(s->hash, hash, BLAKE3_LEN);
	r = read_last_job(s, err);
	if (r < 0 || !v->session.n_files)
		return r;
	r = pipeline_load(&v->query, v->session.id, json ? 0 : PIPELINE_NO_JOBS,
			  &s->pipeline, err);
	if (r < 0)
		return r;
	return look_at_artifacts(s);
}

/* ---- text ---- */

static void add_last_job(struct status *s)
{
	struct view *v = s->view;
	const struct store_job *job = s->last;
	size_t start = v->out.len;
	size_t used;

	if (!job) {
		str_adds(&v->out, "Last job: none\n");
		return;
	}
	str_adds(&v->out, "Last job: ");
	term_add(&v->out, &v->term, COLOR_YELLOW, job->uid);
	str_addc(&v->out, ' ');
	view_step(&v->out, job);
	str_addc(&v->out, ' ');
	term_add(&v->out, &v->term, view_status_color(job), view_outcome(job));
	str_addf(&v->out, " (%s) ", view_verdict_word(job));
	used = view_columns(&v->out, start);
	view_cut(&v->out, job->command,
		 v->width > used + 16 ? v->width - used : 16);
	str_addc(&v->out, '\n');
}

static bool is_stale(const struct status *s, size_t node)
{
	return s->pipeline.nodes[node].state == GRAPH_STALE;
}

static bool is_outdated(const struct status *s, size_t node)
{
	return outdated_steps_has(&s->outdated, &s->pipeline, node);
}

/* "Stale steps: @2, @3" */
static void add_steps(struct status *s, const char *title,
		      bool (*is_one)(const struct status *s, size_t node))
{
	const struct pipeline *p = &s->pipeline;
	struct view *v = s->view;
	struct str list = STR_INIT;

	for (size_t i = 0; i < p->n_nodes; i++) {
		const struct store_outline *job = pipeline_outline(p, i);

		if (!is_one(s, i))
			continue;
		str_adds(&list, list.len ? ", " : "");
		view_step_number(&list, job->is_build, job->step);
	}
	str_addf(&v->out, "%s steps: ", title);
	if (list.len)
		term_add(&v->out, &v->term, COLOR_YELLOW, str_cstr(&list));
	else
		str_adds(&v->out, "none");
	str_addc(&v->out, '\n');
	str_release(&list);
}

static void add_artifact(struct view *v, const struct tracked *t)
{
	static const struct {
		const char *text;
		enum color color;
	} looks[PRESENCE_END] = {
		[PRESENCE_PRESENT] = { "Present", COLOR_GREEN },
		[PRESENCE_CHANGED] = { "Changed", COLOR_YELLOW },
		[PRESENCE_MISSING] = { "Missing", COLOR_RED },
		[PRESENCE_UNVERIFIED] = { "Changed?", COLOR_YELLOW },
		[PRESENCE_REMOTE] = { "Remote", COLOR_NONE },
	};
	struct str cell = STR_INIT;

	str_adds(&v->out, "  ");
	view_cell(v, looks[t->presence].color, looks[t->presence].text, 10);
	view_hash(&cell, &t->row->digests);
	view_cell_str(v, COLOR_CYAN, &cell, VIEW_HASH_DIGITS + 2);
	str_clear(&cell);
	format_size(&cell, (uint64_t)t->artifact->size);
	view_cell_str(v, COLOR_NONE, &cell, 12);
	view_path(v, &v->out, t->artifact->path);
	if (t->artifact->state == GRAPH_STALE)
		str_adds(&v->out, " *");
	str_addc(&v->out, '\n');
	str_release(&cell);
}

static void add_totals(struct status *s)
{
	struct str *out = &s->view->out;

	str_adds(out, "Total: ");
	format_count(out, s->n_tracked, "artifact");
	str_adds(out, ", ");
	format_size(out, s->bytes);
	str_addf(out, " (%zu present, %zu changed, %zu missing",
		 s->n_with[PRESENCE_PRESENT], s->n_with[PRESENCE_CHANGED],
		 s->n_with[PRESENCE_MISSING]);
	if (s->n_with[PRESENCE_UNVERIFIED])
		str_addf(out, ", %zu not verified",
			 s->n_with[PRESENCE_UNVERIFIED]);
	if (s->n_with[PRESENCE_REMOTE])
		str_addf(out, ", %zu remote", s->n_with[PRESENCE_REMOTE]);
	str_adds(out, ")\n");
	if (s->pipeline.n_stale)
		str_adds(out, "* written by a stale step\n");
}

static void add_text(struct status *s)
{
	struct view *v = s->view;

	if (!v->has_session) {
		str_adds(&v->out, "No active session.\n");
		return;
	}
	str_addf(&v->out, "Session: %s\n", v->session.uid);
	str_addf(&v->out, "DAG hash: %s\n", s->hash);
	str_addf(&v->out, "Build steps: %lld\n",
		 (long long)v->session.n_build_steps);
	str_addf(&v->out, "Run steps: %lld\n", (long long)v->session.n_steps);
	add_last_job(s);
	add_steps(s, "Stale", is_stale);
	add_steps(s, "Outdated", is_outdated);
	str_addc(&v->out, '\n');
	if (!s->n_tracked) {
		str_adds(&v->out, "No tracked artifacts.\n");
		return;
	}
	term_add(&v->out, &v->term, COLOR_BOLD, "Tracked artifacts");
	str_addc(&v->out, '\n');
	for (size_t i = 0; i < s->n_tracked && i < ROWS; i++)
		add_artifact(v, &s->tracked[i]);
	if (s->n_tracked > ROWS)
		str_addf(&v->out,
			 "  ... and %zu more (--json lists them all)\n",
			 s->n_tracked - ROWS);
	add_totals(s);
}

/* ---- JSON ---- */

static void json_step_list(struct status *s, struct json *j, const char *key,
			   bool (*is_one)(const struct status *s, size_t node))
{
	const struct pipeline *p = &s->pipeline;

	json_put_key(j, key);
	json_put_array(j);
	for (size_t i = 0; i < p->n_nodes; i++)
		if (is_one(s, i))
			json_put_string(j, view_step_ref(s->view,
							 pipeline_job(p, i)));
	json_end(j);
}

static void json_steps(struct status *s, struct json *j)
{
	json_put_key(j, "last_job");
	if (s->last) {
		json_put_object(j);
		view_json_job(s->view, j, s->last);
		json_end(j);
	} else {
		json_put_null(j);
	}
	json_step_list(s, j, "stale_steps", is_stale);
	json_step_list(s, j, "outdated_steps", is_outdated);
}

static void json_artifacts(struct status *s, struct json *j)
{
	json_put_key(j, "artifacts");
	json_put_array(j);
	for (size_t i = 0; i < s->n_tracked; i++) {
		const struct tracked *t = &s->tracked[i];

		json_put_object(j);
		view_json_text(j, "path", t->artifact->path);
		view_json_digests(j, "digests", &t->row->digests);
		view_json_int(j, "size_bytes", t->artifact->size);
		view_json_text(j, "state", presence_word(t->presence));
		view_json_bool(j, "stale", t->artifact->state == GRAPH_STALE);
		view_json_job_ref(s->view, j, "made_by",
				  pipeline_job(&s->pipeline,
					       t->artifact->producer));
		json_end(j);
	}
	json_end(j);
}

static void add_json(struct status *s)
{
	struct json j = json_writer(&s->view->out, true);
	bool session = s->view->has_session;

	json_put_object(&j);
	view_json_session(s->view, &j, "session",
			  session ? &s->view->session : NULL);
	view_json_text(&j, "dag_hash", session ? s->hash : NULL);
	json_steps(s, &j);
	json_artifacts(s, &j);
	json_put_key(&j, "totals");
	json_put_object(&j);
	view_json_int(&j, "artifacts", (int64_t)s->n_tracked);
	view_json_int(&j, "size_bytes", (int64_t)s->bytes);
	for (int i = 0; i < PRESENCE_END; i++)
		view_json_int(&j, presence_word(i), (int64_t)s->n_with[i]);
	json_end(&j);
	json_end(&j);
	str_addc(&s->view->out, '\n');
}

/* ---- the command ---- */

static int run(const struct args *args)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	struct status s = { .view = &v };
	bool json = args_has(args, "json");
	struct roar_error err = { 0 };
	int r;

	r = view_open(&v, STORE_READONLY);
	if (r)
		return r;
	r = read_status(&s, json, &err);
	if (r >= 0 && json)
		add_json(&s);
	else if (r >= 0)
		add_text(&s);
	pipeline_release(&s.pipeline);
	return r < 0 ? view_fail(r, &err) : view_print(&v);
}

static const struct option_spec options[] = {
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar status", "the session, its last job and its artifacts" },
	{ 0 },
};

const struct command cmd_status = {
	.name = "status",
	.group = GROUP_SESSIONS,
	.summary = "show the state of the active session",
	.synopsis = "[OPTION]...",
	.about =
#include "status.txt.inc"
		,
	.options = options,
	.examples = examples,
	.run = run,
};
