/* show_session.c - the overview of one session: what it is and its steps. */
#include "base/clock.h"
#include "show/show.h"
#include "ui/view.h"
#include "ui/view_labels.h"

struct block {
	struct view *view;
	const struct store_session *session;
	const struct show_options *options;
	char hash[2 * BLAKE3_LEN + 1];
	struct store_job *jobs; /* latest execution of each step, or all */
	size_t n_jobs;
};

static int read_block(struct block *b, struct roar_error *err)
{
	struct view *v = b->view;
	struct store_job_query query = {
		.session_id = b->session->id,
		.latest_only = !b->options->all,
	};
	uint8_t hash[BLAKE3_LEN];
	int r;

	r = store_session_hash(v->store, b->session->id, hash, err);
	if (r < 0)
		return r;
	digest_hex(b->hash, hash, BLAKE3_LEN);
	return store_jobs(v->store, &v->pool, &query, &b->jobs, &b->n_jobs,
			  err);
}

static void add_facts(struct block *b)
{
	const struct store_session *s = b->session;
	struct view *v = b->view;

	term_add(&v->out, &v->term, COLOR_BOLD, "Session ");
	str_addf(&v->out, "%s (%s%s)\n", s->uid,
		 s->closed_ns ? "closed" : "active",
		 s->imported_ns ? ", imported" : "");
	view_label(v, "DAG hash:");
	term_add(&v->out, &v->term, COLOR_CYAN, b->hash);
	str_addc(&v->out, '\n');
	view_label(v, "Created:");
	clock_format(&v->out, s->created_ns);
	str_addc(&v->out, '\n');
	if (s->closed_ns) {
		view_label(v, "Closed:");
		clock_format(&v->out, s->closed_ns);
		str_addc(&v->out, '\n');
	}
	view_label(v, "Jobs:");
	str_addf(&v->out, "%lld\n", (long long)s->n_jobs);
	view_label(v, "Build steps:");
	str_addf(&v->out, "%lld\n", (long long)s->n_build_steps);
	view_label(v, "Run steps:");
	str_addf(&v->out, "%lld\n", (long long)s->n_steps);
	view_labels(v, LABEL_SESSION, s->id);
}

static void add_step(struct view *v, const struct store_job *job)
{
	struct str cell = STR_INIT;
	size_t start = v->out.len;
	size_t used;

	str_adds(&v->out, "  ");
	view_step(&cell, job);
	view_cell_str(v, COLOR_BOLD, &cell, 6);
	view_cell(v, COLOR_YELLOW, job->uid, 10);
	str_clear(&cell);
	view_status(&cell, job);
	view_cell_str(v, view_status_color(job), &cell, 7);
	str_addf(&v->out, "%6lld in %6lld out  ", (long long)job->n_inputs,
		 (long long)job->n_outputs);
	if (job->name[0]) {
		view_cut(&v->out, job->name, 24);
		str_adds(&v->out, ": ");
	}
	used = view_columns(&v->out, start);
	view_cut(&v->out, job->command,
		 v->width > used + 16 ? v->width - used : 16);
	str_addc(&v->out, '\n');
	str_release(&cell);
}

static void add_text(struct block *b)
{
	struct view *v = b->view;

	if (!b->session) {
		str_adds(&v->out, "No active session.\n");
		return;
	}
	add_facts(b);
	str_addc(&v->out, '\n');
	if (!b->n_jobs) {
		str_adds(&v->out,
			 "No steps yet: 'roar run COMMAND' records one.\n");
		return;
	}
	term_add(&v->out, &v->term, COLOR_BOLD,
		 b->options->all ? "Jobs\n" : "Steps\n");
	for (size_t i = 0; i < b->n_jobs; i++)
		add_step(v, &b->jobs[i]);
}

static void add_json(struct block *b)
{
	struct json j = json_writer(&b->view->out, true);

	json_put_object(&j);
	view_json_text(&j, "type", "session");
	view_json_session(b->view, &j, "session", b->session);
	view_json_text(&j, "dag_hash", b->session ? b->hash : NULL);
	json_put_key(&j, "jobs");
	json_put_array(&j);
	for (size_t i = 0; i < b->n_jobs; i++) {
		json_put_object(&j);
		view_json_job(b->view, &j, &b->jobs[i]);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	str_addc(&b->view->out, '\n');
}

int show_session(struct view *v, const struct store_session *session,
		 const struct show_options *o, struct roar_error *err)
{
	struct block b = { .view = v, .session = session, .options = o };
	int r = session ? read_block(&b, err) : 0;

	if (r < 0)
		return r;
	if (o->json)
		add_json(&b);
	else
		add_text(&b);
	return 0;
}
