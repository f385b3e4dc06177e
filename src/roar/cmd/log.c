/* log.c - `roar log`: the jobs of a session, one line each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "commands.h"
#include "show/show_variants.h"
#include "ui/view.h"
#include "ui/view_nodes.h"

enum { DEFAULT_JOBS = 20, COMMAND_MIN = 16 };

/* The columns before the command.  A narrow terminal shows fewer of them: those
 * that `roar show` can best be asked for go first. */
enum { UID, STEP, TIMESTAMP, DURATION, STATUS, N_COLUMNS };

static const struct {
	const char *name;
	size_t width;
} columns[] = {
	[UID] = { "UID", 10 },
	[STEP] = { "STEP", 6 },
	[TIMESTAMP] = { "TIMESTAMP", 21 },
	[DURATION] = { "DURATION", 10 },
	[STATUS] = { "STATUS", 8 },
};

struct log {
	struct view *view;
	struct store_job *jobs;
	size_t n_jobs;
	int64_t n_total; /* jobs that match, listed or not */
	bool all_sessions;
	bool hidden[N_COLUMNS];
	size_t step_width; /* of that column */
	struct map repeated; /* steps with several executions in the list */
};

/* ---- the table ---- */

struct step_key {
	int64_t session_id, step, is_build;
};

static struct step_key key_of(const struct store_job *job)
{
	return (struct step_key){ job->session_id, job->step,
				  !strcmp(job->kind, "build") };
}

/* @2 is the latest execution, so of several each has its number. */
static void step_cell(const struct log *l, const struct store_job *job,
		      struct str *out)
{
	struct step_key key = key_of(job);

	if (job->attempt > 1 || map_get(&l->repeated, &key, sizeof(key)))
		show_variant_ref(out, job);
	else
		view_step(out, job);
}

static int measure_steps(struct log *l)
{
	struct str cell = STR_INIT;
	int r = 0;

	l->step_width = columns[STEP].width;
	for (size_t i = 0; r >= 0 && i < l->n_jobs; i++) {
		struct step_key *key = pool_alloc(&l->view->pool, sizeof(*key));

		if (!key)
			return -ENOMEM;
		*key = key_of(&l->jobs[i]);
		if (l->jobs[i].attempt > 1)
			r = map_set(&l->repeated, key, sizeof(*key),
				    &l->jobs[i]);
	}
	for (size_t i = 0; i < l->n_jobs; i++) {
		str_clear(&cell);
		step_cell(l, &l->jobs[i], &cell);
		if (cell.len + 1 > l->step_width)
			l->step_width = cell.len + 1;
	}
	str_release(&cell);
	return r;
}

static size_t width_of(const struct log *l, int column)
{
	return column == STEP ? l->step_width : columns[column].width;
}

static void choose_columns(struct log *l)
{
	static const int order[] = { TIMESTAMP, DURATION, STEP, STATUS };
	size_t used = COMMAND_MIN;

	for (size_t i = 0; i < N_COLUMNS; i++)
		used += width_of(l, (int)i);
	for (size_t i = 0; i < 4 && used > l->view->width; i++) {
		l->hidden[order[i]] = true;
		used -= width_of(l, order[i]);
	}
}

static void add_cell(struct log *l, int column, enum color color,
		     const char *text)
{
	if (!l->hidden[column])
		view_cell(l->view, color, text, width_of(l, column));
}

static void add_cell_str(struct log *l, int column, enum color color,
			 const struct str *text)
{
	if (!l->hidden[column])
		view_cell_str(l->view, color, text, width_of(l, column));
}

/* A line of its own, cut to the width. */
static void add_line(struct log *l, enum color color, const char *text)
{
	struct str line = STR_INIT;

	view_cut(&line, text, l->view->width);
	term_add(&l->view->out, &l->view->term, color, str_cstr(&line));
	str_addc(&l->view->out, '\n');
	str_release(&line);
}

static void add_title(struct log *l)
{
	struct str title = STR_INIT;

	str_adds(&title, "Job Log (");
	format_count(&title, (uint64_t)l->n_total, "job");
	if (l->n_total > (int64_t)l->n_jobs)
		str_addf(&title, ", last %zu", l->n_jobs);
	str_adds(&title, ")");
	add_line(l, COLOR_BOLD, str_cstr(&title));
	str_addc(&l->view->out, '\n');
	str_release(&title);
}

static void add_heads(struct log *l)
{
	for (int i = 0; i < N_COLUMNS; i++)
		add_cell(l, i, COLOR_DIM, columns[i].name);
	view_cell(l->view, COLOR_DIM, "COMMAND", 0);
	str_addc(&l->view->out, '\n');
}

static void add_row(struct log *l, const struct store_job *job)
{
	struct view *v = l->view;
	struct str cell = STR_INIT;
	size_t start = v->out.len;
	size_t used;

	add_cell(l, UID, COLOR_YELLOW, job->uid);
	step_cell(l, job, &cell);
	add_cell_str(l, STEP, COLOR_NONE, &cell);
	str_clear(&cell);
	clock_format(&cell, job->started_ns);
	add_cell_str(l, TIMESTAMP, COLOR_NONE, &cell);
	str_clear(&cell);
	clock_format_duration(&cell, job->duration_ns);
	add_cell_str(l, DURATION, COLOR_NONE, &cell);
	str_clear(&cell);
	view_status(&cell, job);
	add_cell_str(l, STATUS, view_status_color(job), &cell);
	view_nodes_mark(v, &v->out, job);
	used = view_columns(&v->out, start);
	str_clear(&cell);
	show_variant_mark(v, job, l->n_jobs, &cell);
	str_add(&cell, job->command, strnlen(job->command, 4 * v->width));
	if (v->width >= used + strlen("..."))
		view_cut(&v->out, str_cstr(&cell), v->width - used);
	str_addc(&v->out, '\n');
	str_release(&cell);
}

/* With several sessions, a line where one ends and the next begins. */
static void add_session(struct log *l, const struct store_session *sessions,
			size_t n, int64_t id)
{
	struct str line = STR_INIT;

	for (size_t i = 0; i < n; i++) {
		if (sessions[i].id != id)
			continue;
		str_addf(&line, "session %s, ", sessions[i].uid);
		if (sessions[i].closed_ns)
			str_adds(&line, "closed ");
		else
			str_adds(&line, "active since ");
		clock_format(&line, sessions[i].closed_ns ?
					    sessions[i].closed_ns :
					    sessions[i].created_ns);
		add_line(l, COLOR_CYAN, str_cstr(&line));
	}
	str_release(&line);
}

static int add_table(struct log *l, struct roar_error *err)
{
	struct view *v = l->view;
	struct store_session *sessions = NULL;
	size_t n_sessions = 0;
	int64_t session = 0;
	bool incomplete = false;
	int r;

	if (l->all_sessions) {
		r = store_sessions(v->store, &v->pool, &sessions, &n_sessions,
				   err);
		if (r < 0)
			return r;
	}
	r = measure_steps(l);
	if (r < 0)
		return r;
	choose_columns(l);
	add_title(l);
	add_heads(l);
	for (size_t i = 0; i < l->n_jobs; i++) {
		if (l->jobs[i].session_id != session)
			add_session(l, sessions, n_sessions,
				    l->jobs[i].session_id);
		session = l->jobs[i].session_id;
		add_row(l, &l->jobs[i]);
		incomplete |= !l->jobs[i].complete;
	}
	if (incomplete) {
		str_addc(&v->out, '\n');
		add_line(l, COLOR_NONE,
			 v->width < 60 ?
				 "* incomplete: 'roar show UID'" :
				 "* the record is incomplete; 'roar show UID' gives the "
				 "reasons");
	}
	return 0;
}

/* ---- JSON ---- */

static void add_json(struct log *l)
{
	struct view *v = l->view;
	struct json j = json_writer(&v->out, true);

	json_put_object(&j);
	view_json_session(v, &j, "session",
			  v->has_session ? &v->session : NULL);
	view_json_int(&j, "total_jobs", l->n_total);
	json_put_key(&j, "jobs");
	json_put_array(&j);
	for (size_t i = 0; i < l->n_jobs; i++) {
		json_put_object(&j);
		view_json_job(v, &j, &l->jobs[i]);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	str_addc(&v->out, '\n');
}

/* ---- the command ---- */

/* How many jobs match in all: known without reading them, unless words were
 * searched for. */
static int count(struct log *l, const struct store_job_query *query,
		 struct roar_error *err)
{
	struct store_job_query all = *query;
	struct pool scratch = POOL_INIT;
	struct store_stats stats;
	struct store_job *jobs;
	size_t n = l->n_jobs;
	int r = 0;

	if ((int64_t)l->n_jobs < query->limit) {
		l->n_total = (int64_t)l->n_jobs;
	} else if (query->search) {
		all.limit = 0;
		r = store_jobs(l->view->store, &scratch, &all, &jobs, &n, err);
		l->n_total = (int64_t)n;
	} else if (l->all_sessions) {
		r = store_stats(l->view->store, &stats, err);
		l->n_total = stats.n_jobs;
	} else {
		l->n_total = l->view->session.n_jobs;
	}
	pool_release(&scratch);
	return r;
}

static int read_jobs(struct log *l, const struct args *args, int64_t limit,
		     struct roar_error *err)
{
	struct store_job_query query = {
		.session_id = l->all_sessions ? 0 : l->view->session.id,
		.search = args_get(args, "search"),
		.limit = limit,
	};
	int r;

	if (!l->all_sessions && !l->view->has_session)
		return 0;
	r = store_jobs(l->view->store, &l->view->pool, &query, &l->jobs,
		       &l->n_jobs, err);
	if (r < 0)
		return r;
	return count(l, &query, err);
}

static int compose(struct log *l, bool json, struct roar_error *err)
{
	if (l->n_jobs && !json)
		return add_table(l, err);
	if (json) {
		add_json(l);
		return 0;
	}
	str_adds(&l->view->out, l->view->has_session || l->all_sessions ?
					"No log entries found.\n" :
					"No active session.\n");
	return 0;
}

static int run(const struct args *args)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	struct log l = {
		.view = &v,
		.all_sessions = args_has(args, "all-sessions"),
	};
	struct roar_error err = { 0 };
	int r;

	r = view_open(&v, STORE_READONLY);
	if (r)
		return r;
	r = read_jobs(&l, args, args_number(args, "number", DEFAULT_JOBS),
		      &err);
	if (r >= 0)
		r = compose(&l, args_has(args, "json"), &err);
	map_release(&l.repeated);
	return r < 0 ? view_fail(r, &err) : view_print(&v);
}

static const struct option_spec options[] = {
	{ .name = "number",
	  .letter = 'n',
	  .arg = "N",
	  .min = 1,
	  .max = 1000000,
	  .help = "list the last N jobs instead of 20" },
	{ .name = "all-sessions",
	  .letter = 'a',
	  .help = "list the jobs of all sessions, not only the active one" },
	{ .name = "search",
	  .letter = 's',
	  .arg = "WORDS",
	  .help = "only jobs that have all of these words in command, script "
		  "or name" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar log", "the last 20 jobs of the active session" },
	{ "roar log -n 100 --search train",
	  "the last 100 jobs that contain the word train" },
	{ 0 },
};

const struct command cmd_log = {
	.name = "log",
	.group = GROUP_INSPECT,
	.summary = "list recorded jobs",
	.synopsis = "[OPTION]...",
	.about =
#include "log.txt.inc"
		,
	.options = options,
	.examples = examples,
	.run = run,
};
