/* why.c - `roar why`: how a file came into the record, or what kept it out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/quote.h"
#include "commands.h"
#include "lineage/filter.h"
#include "lineage/fold.h"
#include "query/target.h"
#include "store/store_edge.h"
#include "ui/view.h"

enum { CHAIN_MAX = 64, EDGES_SHOWN = 10 };

/* The processes of a job and what they did. */
struct evidence {
	int64_t job_id; /* 0: none was read */
	struct store_process *processes;
	size_t n_processes;
	struct store_edge *edges;
	size_t n_edges;
};

struct answer {
	struct view *view;
	const char *word; /* as the user typed it */
	const char *path; /* NULL: a hash was given */
	struct store_file *rows; /* newest job first */
	size_t n;
	size_t n_jobs, n_jobs_left; /* of the rows; of those not shown */
	struct evidence evidence;
	struct config config; /* patterns that are in force now */
};

/* ---- reading ---- */

static int find_path(struct answer *a, const char *path, struct roar_error *err)
{
	struct view *v = a->view;

	a->path = pool_strdup(&v->pool, path);
	if (!a->path)
		return -ENOMEM;
	return store_path_uses(v->store, &v->pool, path, &a->rows, &a->n, err);
}

/* The record has paths without symbolic links. */
static int find_by_path(struct answer *a, struct roar_error *err)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(freep) char *real = NULL;
	int r;

	if (strncmp(a->word, "s3://", 5) == 0)
		return find_path(a, a->word, err);
	path_normalize(&path, a->view->project.cwd, a->word);
	r = str_error(&path);
	if (r == 0)
		r = find_path(a, str_cstr(&path), err);
	if (r < 0 || a->n)
		return r;
	real = realpath(str_cstr(&path), NULL);
	return real ? find_path(a, real, err) : 0;
}

static int find_by_hash(struct answer *a, struct roar_error *err)
{
	struct view *v = a->view;
	struct store_file *rows;
	struct target t;
	size_t n;
	int r = target_resolve(&v->query, v->project.cwd, a->word,
			       TARGET_WANT_ARTIFACT, &t, err);

	if (r == -EINVAL || r == -ENOENT)
		return 0; /* not a hash, or that of unknown content */
	if (r == 0)
		r = store_artifact_uses(v->store, &v->pool, t.artifact.id,
					&rows, &n, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n / 2; i++) {
		struct store_file row = rows[i];

		rows[i] = rows[n - 1 - i];
		rows[n - 1 - i] = row;
	}
	a->path = NULL;
	a->rows = rows;
	a->n = n;
	return 0;
}

/* Keeps the rows of one job: `job_id`, or the newest. */
static void keep_job(struct answer *a, int64_t job_id)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++)
		a->n_jobs += i == 0 ||
			     a->rows[i].job_id != a->rows[i - 1].job_id;
	if (!job_id && a->n)
		job_id = a->rows[0].job_id;
	for (size_t i = 0; i < a->n; i++)
		if (a->rows[i].job_id == job_id)
			a->rows[n++] = a->rows[i];
	a->n = n;
	a->n_jobs_left = a->n_jobs - (n > 0);
}

static int read_answer(struct answer *a, const char *job, bool all,
		       struct roar_error *err)
{
	struct view *v = a->view;
	struct target t = { 0 };
	int r = 0;

	if (job)
		r = target_resolve(&v->query, v->project.cwd, job,
				   TARGET_WANT_JOB, &t, err);
	if (r == 0)
		r = find_by_path(a, err);
	if (r == 0 && !a->n)
		r = find_by_hash(a, err);
	if (r == 0 && !all)
		keep_job(a, t.job.id);
	return r;
}

static int read_evidence(struct answer *a, int64_t job_id,
			 struct roar_error *err)
{
	struct evidence *e = &a->evidence;
	struct view *v = a->view;
	int r;

	if (e->job_id == job_id)
		return 0;
	e->job_id = job_id;
	r = store_processes(v->store, &v->pool, job_id, &e->processes,
			    &e->n_processes, err);
	if (r < 0)
		return r;
	return store_edges(v->store, &v->pool, job_id, &e->edges, &e->n_edges,
			   err);
}

/* ---- processes ---- */

/* The index of the process that had the pid when process `child` started; n: none.  A pid
 * may be used again. */
static size_t find_process(const struct evidence *e, int32_t pid, int64_t by_ns)
{
	size_t found = e->n_processes;

	for (size_t i = 0; i < e->n_processes; i++)
		if (e->processes[i].pid == pid &&
		    e->processes[i].start_ns <= by_ns)
			found = i;
	return found;
}

/* A process and those that started it, up to the command: indices. */
static size_t process_chain(const struct evidence *e, size_t at,
			    size_t ret[CHAIN_MAX])
{
	size_t n = 0;

	while (at < e->n_processes && n < CHAIN_MAX) {
		const struct store_process *p = &e->processes[at];

		ret[n++] = at;
		at = find_process(e, p->parent, p->start_ns);
		if (n > 1 && at == ret[n - 2])
			break;
	}
	return n;
}

/* What processes did to the file of a row. */
struct deed {
	unsigned kind; /* enum lineage_edge_kind */
	int64_t event;
	size_t process; /* index */
};

/* Of filtered files only the first reader and writer are known. */
static int add_first(struct deed *deeds, int n, const struct evidence *e,
		     int32_t pid, unsigned kind, int64_t event)
{
	size_t process = find_process(e, pid, INT64_MAX);

	if (pid <= 0 || process == e->n_processes)
		return n;
	deeds[n] = (struct deed){ kind, event, process };
	return n + 1;
}

static int find_deeds(const struct evidence *e, const struct store_file *row,
		      struct deed deeds[EDGES_SHOWN])
{
	int n = 0;

	for (size_t i = 0; i < e->n_edges && n < EDGES_SHOWN; i++)
		if (e->edges[i].file == row->n && e->edges[i].process > 0 &&
		    (size_t)e->edges[i].process <= e->n_processes)
			deeds[n++] = (struct deed){
				e->edges[i].kind, e->edges[i].event,
				(size_t)e->edges[i].process - 1
			};
	if (n > 0)
		return n;
	if (row->read_order)
		n = add_first(deeds, n, e, row->reader, LINEAGE_EDGE_READ,
			      row->read_order);
	if (row->write_order)
		n = add_first(deeds, n, e, row->writer, LINEAGE_EDGE_WRITTEN,
			      row->write_order);
	return n;
}

static const char *deed_word(unsigned kind)
{
	static const char *const words[LINEAGE_EDGE_END] = {
		[LINEAGE_EDGE_READ] = "read",
		[LINEAGE_EDGE_READ_OWN] = "read again",
		[LINEAGE_EDGE_WRITTEN] = "written",
		[LINEAGE_EDGE_MADE] = "made, and moved here by another,",
		[LINEAGE_EDGE_PASSED_READ] = "read as a standard stream",
		[LINEAGE_EDGE_PASSED_READ_OWN] =
			"read again as a standard stream",
		[LINEAGE_EDGE_PASSED_WRITTEN] = "written as a standard stream",
	};

	return kind < LINEAGE_EDGE_END && words[kind] ? words[kind] : "used";
}

/* ---- filters ---- */

/* The pattern of the user that takes the path now; NULL: none, it was removed since. */
static const char *find_pattern(const struct answer *a,
				const struct store_file *row)
{
	const struct config *c = &a->config;

	for (size_t i = 0; i < c->n_ignore_paths; i++) {
		struct filter_options o = {
			.project = a->view->project.root,
			.home = getenv("HOME"),
			.patterns = &c->ignore_paths[i],
			.n_patterns = 1,
		};

		for (int id = 0; id < FILTER_PATTERNS; id++)
			o.off[id] = true;
		if (filter_match(&o, row->path, row->write_order > 0) ==
		    FILTER_PATTERNS)
			return c->ignore_paths[i];
	}
	return NULL;
}

/* Appends the command that keeps such files in sight; nothing: there is none. */
static void add_remedy(const struct answer *a, const struct store_file *row,
		       struct str *out)
{
	const char *pattern = row->filter == FILTER_PATTERNS ?
				      find_pattern(a, row) :
				      NULL;

	if (pattern) {
		str_adds(out, "roar filter remove ");
		quote_shell(out, pattern);
	} else if (row->filter != FILTER_PATTERNS && filter_key(row->filter)) {
		str_addf(out, "roar config set %s false",
			 filter_key(row->filter));
	}
}

/* ---- text ---- */

static void add_process(struct view *v, const struct store_process *p)
{
	quote_printable_cut(&v->out, p->command[0] ? p->command : "(unknown)",
			    v->width > 40 ? v->width - 30 : 40);
	str_addf(&v->out, " (pid %d)", p->pid);
}

static void add_deed(struct answer *a, const struct deed *deed)
{
	const struct evidence *e = &a->evidence;
	struct view *v = a->view;
	size_t chain[CHAIN_MAX];
	size_t n = process_chain(e, deed->process, chain);

	str_addf(&v->out, "    %s by ", deed_word(deed->kind));
	for (size_t i = 0; i < n; i++) {
		if (i)
			str_adds(&v->out, "      started by ");
		add_process(v, &e->processes[chain[i]]);
		if (i == 0 && deed->event)
			str_addf(&v->out, ", event %lld",
				 (long long)deed->event);
		str_addc(&v->out, '\n');
	}
}

static void add_filter(struct answer *a, const struct store_file *row)
{
	struct view *v = a->view;
	struct str remedy = STR_INIT;

	str_adds(&v->out, "    left out by the filter ");
	term_add(&v->out, &v->term, COLOR_YELLOW, filter_name(row->filter));
	str_addf(&v->out, ": %s\n", filter_about(row->filter));
	add_remedy(a, row, &remedy);
	str_addf(&v->out,
		 remedy.len ? "    to keep such files from now on: %s\n" :
		 row->filter == FILTER_PATTERNS ?
			      "    that pattern was removed since%s\n" :
			      "    this filter is always on%s\n",
		 str_cstr(&remedy));
	v->out.failed |= remedy.failed;
	str_release(&remedy);
}

static void add_row(struct answer *a, const struct store_file *row)
{
	struct deed deeds[EDGES_SHOWN];
	int n = find_deeds(&a->evidence, row, deeds);
	struct view *v = a->view;

	str_addf(&v->out, "  %s", view_role_word(row->role));
	if (!a->path) {
		str_addc(&v->out, ' ');
		view_path(v, &v->out, row->path);
	}
	str_adds(&v->out, "  ");
	view_hash(&v->out, &row->digests);
	str_addc(&v->out, '\n');
	if (row->origin[0]) {
		str_adds(&v->out, "    it was ");
		view_path(v, &v->out, row->origin);
		str_adds(&v->out, " before\n");
	}
	for (int i = 0; i < n; i++)
		add_deed(a, &deeds[i]);
	if (n == 0)
		str_adds(&v->out, row->seen & LINEAGE_IMPLIED ?
					  "    implied by another file\n" :
					  "    no process is on record\n");
	if (row->filter)
		add_filter(a, row);
}

static int add_text(struct answer *a, struct roar_error *err)
{
	struct view *v = a->view;
	const struct store_job *job;
	int r = 0;

	for (size_t i = 0; i < a->n; i++) {
		const struct store_file *row = &a->rows[i];

		r = query_job(&v->query, row->job_id, &job, err);
		if (r == 0)
			r = read_evidence(a, row->job_id, err);
		if (r < 0)
			return r;
		if (job && (i == 0 || row->job_id != a->rows[i - 1].job_id)) {
			view_step_full(v, &v->out, job);
			str_addf(&v->out, " %s  ", job->uid);
			view_cut(&v->out, job->command, 60);
			str_addc(&v->out, '\n');
		}
		add_row(a, row);
	}
	if (a->n && a->n_jobs_left) {
		format_count(&v->out, a->n_jobs_left, "other job");
		str_adds(&v->out, " used it too (--all)\n");
	}
	return r;
}

static void add_unseen(struct answer *a, const char *job)
{
	struct str *out = &a->view->out;

	str_adds(out,
		 job ? "That job has not used " : "No recorded job has used ");
	quote_printable(out, a->word, strlen(a->word));
	str_adds(out, job && a->n_jobs ?
			      ": other jobs have (leave out JOB).\n" :
			      ": only files that a command opens under 'roar "
			      "run' are in the record.\n");
}

/* ---- JSON ---- */

static void put_deed(struct answer *a, struct json *j, const struct deed *deed)
{
	size_t chain[CHAIN_MAX];
	size_t n = process_chain(&a->evidence, deed->process, chain);

	json_put_object(j);
	view_json_text(j, "how", deed_word(deed->kind));
	view_json_int(j, "event", deed->event);
	json_put_key(j, "processes");
	json_put_array(j);
	for (size_t i = 0; i < n; i++) {
		const struct store_process *p = &a->evidence.processes[chain[i]];

		json_put_object(j);
		view_json_int(j, "pid", p->pid);
		view_json_text(j, "command", p->command);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

static void put_row(struct answer *a, struct json *j,
		    const struct store_file *row, const struct store_job *job)
{
	struct deed deeds[EDGES_SHOWN];
	int n = find_deeds(&a->evidence, row, deeds);
	struct str remedy = STR_INIT;

	add_remedy(a, row, &remedy);
	json_put_object(j);
	view_json_job_ref(a->view, j, "job", job);
	view_json_text(j, "path", row->path);
	view_json_text(j, "role", view_role_word(row->role));
	view_json_digests(j, "digests", &row->digests);
	view_json_text(j, "renamed_from", row->origin[0] ? row->origin : NULL);
	view_json_text(j, "filter",
		       row->filter ? filter_name(row->filter) : NULL);
	view_json_text(j, "remedy", remedy.len ? str_cstr(&remedy) : NULL);
	json_put_key(j, "evidence");
	json_put_array(j);
	for (int i = 0; i < n; i++)
		put_deed(a, j, &deeds[i]);
	json_end(j);
	json_end(j);
	a->view->out.failed |= remedy.failed;
	str_release(&remedy);
}

static int add_json(struct answer *a, struct roar_error *err)
{
	struct view *v = a->view;
	struct json j = json_writer(&v->out, true);
	const struct store_job *job;
	int r = 0;

	json_put_object(&j);
	view_json_text(&j, "path", a->path);
	json_put_key(&j, "uses");
	json_put_array(&j);
	for (size_t i = 0; r == 0 && i < a->n; i++) {
		r = query_job(&v->query, a->rows[i].job_id, &job, err);
		if (r == 0)
			r = read_evidence(a, a->rows[i].job_id, err);
		if (r == 0)
			put_row(a, &j, &a->rows[i], job);
	}
	json_end(&j);
	json_end(&j);
	str_addc(&v->out, '\n');
	return r;
}

/* ---- the command ---- */

static int run(const struct args *args)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	const char *job = args->n_operands > 1 ? args->operands[1] : NULL;
	struct answer a = { .view = &v, .word = args->operands[0] };
	struct roar_error err = { 0 };
	int r = view_open(&v, STORE_READONLY);

	if (r)
		return r;
	r = config_load(v.project.dir, &a.config);
	if (r == 0)
		r = read_answer(&a, job, args_has(args, "all") && !job, &err);
	if (r == 0 && args_has(args, "json"))
		r = add_json(&a, &err);
	else if (r == 0)
		r = add_text(&a, &err);
	config_release(&a.config);
	if (r == -EINVAL)
		return cli_usage(args->command, "%s", err.text);
	if (r < 0)
		return view_fail(r, &err);
	if (!a.n && !args_has(args, "json"))
		add_unseen(&a, job);
	r = view_print(&v);
	return r ? r : a.n == 0;
}

static const struct option_spec options[] = {
	{ .name = "all", .letter = 'a', .help = "all jobs that used the file" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar why vocab.txt", "how the newest job used it" },
	{ "roar why /etc/hosts @2", "why step 2 does not list that file" },
	{ 0 },
};

const struct command cmd_why = {
	.name = "why",
	.group = GROUP_INSPECT,
	.summary = "tell how a file came into the record, or what kept it out",
	.synopsis = "[OPTION]... FILE|HASH [JOB]",
	.about =
#include "why.txt.inc"
		,
	.options = options,
	.examples = examples,
	.exit_status = "0 if a job used the file, 1 if none did or the record "
		       "cannot be read, 2 for wrong usage.",
	.operand = OPERAND_TARGET,
	.min_operands = 1,
	.max_operands = 2,
	.run = run,
};
