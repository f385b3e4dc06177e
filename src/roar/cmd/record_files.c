/* record_files.c - `roar record-files`: a step from what a program reports of itself.
 *
 * The report (event/self_report.h) is turned into events; from there on everything is as
 * after `roar run`. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"
#include "capture/process_environment.h"
#include "commands.h"
#include "event/self_report.h"
#include "git/git.h"
#include "project/project.h"
#include "run/run.h"
#include "run/run_log.h"
#include "run/self_events.h"
#include "run/situation.h"
#include "ui/view.h"

enum {
	REPORT_MAX = 256 << 20, /* bytes */
	ARGS_MAX = 10000,
	GIT_WAIT_MS = 3000,
};

static const struct tracer_ops in_process = { .name = "python" };

/* What the report says beside the operations. */
struct reported {
	char **argv; /* ended by NULL; strings of the report */
	size_t n_args, cap_args;
	const char *name;
	int64_t pid, started_ns, ended_ns, exit_code, n_lost;
};

/* ---- the report ---- */

static int read_stdin(struct str *out)
{
	char buffer[64 * 1024];
	ssize_t n;

	while ((n = read(STDIN_FILENO, buffer, sizeof(buffer))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (out->len + (size_t)n > REPORT_MAX)
			return -EFBIG;
		str_add(out, buffer, (size_t)n);
	}
	return str_error(out);
}

static int add_arg(struct reported *p, const char *arg)
{
	char **slot = p->n_args < ARGS_MAX ?
			      VEC_PUSH(p->argv, p->n_args, p->cap_args) :
			      NULL;

	if (!slot)
		return p->n_args < ARGS_MAX ? -ENOMEM : -EBADMSG;
	*slot = (char *)arg;
	return 0;
}

static int take_item(struct reported *p, const struct self_report_item *item)
{
	switch (item->kind) {
	case SELF_REPORT_NAME:
		p->name = item->path;
		return 0;
	case SELF_REPORT_ARG:
		return add_arg(p, item->path);
	case SELF_REPORT_PID:
		p->pid = item->number;
		return 0;
	case SELF_REPORT_STARTED:
		p->started_ns = item->number;
		return 0;
	case SELF_REPORT_ENDED:
		p->ended_ns = item->number;
		return 0;
	case SELF_REPORT_EXIT:
		p->exit_code = item->number;
		return 0;
	case SELF_REPORT_LOST:
		p->n_lost = item->number;
		return 0;
	default:
		return 0;
	}
}

/* Reads all of it, so that a wrong report changes nothing. */
static int check_report(const struct str *text, struct reported *p)
{
	struct self_report report = self_report_of(str_cstr(text), text->len);
	struct self_report_item item;
	int r;

	*p = (struct reported){ .name = "" };
	while ((r = self_report_next(&report, &item)) > 0) {
		r = take_item(p, &item);
		if (r < 0)
			return r;
	}
	if (r == 0 && (!p->n_args || p->started_ns > p->ended_ns))
		r = -EBADMSG;
	if (r == 0 && vec_reserve(&p->argv, &p->cap_args, p->n_args + 1,
				  sizeof(*p->argv)) < 0)
		r = -ENOMEM;
	if (r == 0)
		p->argv[p->n_args] = NULL;
	return r;
}

/* ---- the record ---- */

static bool is_made(void *ctx, const char *path, size_t len, bool young)
{
	const struct run *run = ctx;
	const struct lineage_file *f = fold_find(run->fold, path);

	(void)len;
	(void)young;
	return f && f->own;
}

/* The tree as it is now, without what the block made. */
static void read_git(struct run *run)
{
	CLEANUP(str_release) struct str cache = STR_INIT;
	const struct git_options options = {
		.own_dir = run->project->dir,
		.no_snapshot = !run->project->config.git_snapshot,
		.is_made = is_made,
		.ctx = run,
	};
	struct git_state *state = NULL;

	str_addf(&cache, "%s/git-look", run->project->dir);
	if (!cache.failed &&
	    git_state_start(run->meta.cwd, cache.data, &options, &state) == 0)
		(void)git_state_finish(state, GIT_WAIT_MS, &run->git);
}

static int write_record(struct run *run, struct roar_error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	int r = project_store_create(run->project, &store, err);

	if (r == 0)
		r = record_begin(run, store, err);
	if (r == -EEXIST) {
		run_meta_new_uid(&run->meta);
		r = record_begin(run, store, err);
	}
	return r < 0 ? r : record_commit(run, store, err);
}

static int begin(struct run *run, const struct reported *p, struct str *text)
{
	int r = run_meta_fill(run, p->argv);

	if (r < 0)
		return r;
	run->meta.started_ns = p->started_ns;
	run->duration_ns = p->ended_ns - p->started_ns;
	run->total_start_ns = clock_mono_ns() - run->duration_ns;
	run->result.status = (int)p->exit_code << 8;
	if (p->pid == getppid())
		process_environments_read(run->process_environments,
					  (int32_t)p->pid, p->argv[0]);
	return self_events_fold(run, text->data, text->len, (int32_t)p->pid,
				p->started_ns);
}

static int record(struct run *run, const struct reported *p, struct str *text,
		  struct roar_error *err)
{
	int r = begin(run, p, text);

	if (r < 0)
		return error_set(err, r, "cannot record the block: %s",
				 strerror(-r));
	fold_add_gap(run->fold, EVENT_GAP_PYTHON, "");
	if (p->n_lost)
		fold_add_gap(run->fold, EVENT_GAP_LOST, "");
	read_git(run);
	r = run_classify(run);
	if (r < 0)
		return error_set(err, r, "out of memory");
	situation_collect(run);
	r = write_record(run, err);
	run_log_end(run, r < 0 ? err->text : NULL);
	if (r == 0)
		kept_content_add(run);
	return r;
}

/* ---- output ---- */

static int print_json(const struct run *run)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	CLEANUP(str_release) struct str step = STR_INIT;
	struct json j = json_writer(&out, true);
	size_t n;
	const struct lineage_gap *gaps = fold_gaps(run->fold, &n);

	view_step(&step, &run->job);
	json_put_object(&j);
	view_json_text(&j, "job_uid", run->job.uid);
	view_json_text(&j, "step_ref", str_cstr(&step));
	view_json_text(&j, "verdict", view_verdict_word(&run->job));
	json_put_key(&j, "gaps");
	json_put_array(&j);
	for (size_t i = 0; i < n; i++) {
		json_put_object(&j);
		view_json_text(&j, "reason",
			       event_gap_name((unsigned)gaps[i].code));
		view_json_text(&j, "text",
			       event_gap_text((unsigned)gaps[i].code));
		view_json_text(&j, "detail", gaps[i].detail);
		view_json_int(&j, "count", gaps[i].count);
		json_end(&j);
	}
	json_end(&j);
	view_json_int(&j, "inputs_count", run->job.n_inputs);
	view_json_int(&j, "outputs_count", run->job.n_outputs);
	json_end(&j);
	str_addc(&out, '\n');
	return cli_print(&out);
}

/* ---- the command ---- */

static int record_in_project(const struct args *args, const struct reported *p,
			     struct str *text)
{
	CLEANUP(project_release) struct project project = { .dirfd = -1 };
	static struct run run;
	struct run_options options = { .kind = "run",
				       .name = p->name,
				       .tracer = &in_process,
				       .quiet = args_has(args, "quiet") };
	struct roar_error err = { "out of memory" };
	int r = project_open(PROJECT_CREATE, &project, NULL, &err);

	if (r < 0)
		return cli_fail("%s", err.text);
	project_recover(&project);
	options.want = project.config.hash_run;
	options.keep = project.config.objects_keep;
	r = run_init(&run, &project, &options);
	if (r == 0)
		r = record(&run, p, text, &err);
	if (r < 0)
		r = cli_fail("the block could not be recorded: %s", err.text);
	else if (args_has(args, "json"))
		r = print_json(&run);
	if (r == 0)
		report_print(&run);
	run_release(&run);
	return r;
}

static int run(const struct args *args)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct reported reported = { 0 };
	int r = read_stdin(&text);

	if (r == 0)
		r = check_report(&text, &reported);
	if (r == -EBADMSG)
		r = cli_fail("standard input is not a list of file operations: "
			     "see roar-record-files(1)");
	else if (r == -EFBIG)
		r = cli_fail("the list on standard input has more than %d MiB",
			     REPORT_MAX >> 20);
	else if (r < 0)
		r = cli_fail("cannot read standard input: %s", strerror(-r));
	else
		r = record_in_project(args, &reported, &text);
	free(reported.argv);
	return r;
}

static const struct option_spec options[] = {
	{ .name = "quiet",
	  .letter = 'q',
	  .help = "print nothing unless it could not be recorded" },
	{ .name = "json", .help = "print the result as JSON" },
	{ 0 },
};

const struct command cmd_record_files = {
	.name = "record-files",
	.group = GROUP_SETUP,
	.summary = "record a step from a list of file operations",
	.synopsis = "[OPTION]... < LIST",
	.about =
#include "record-files.txt.inc"
		,
	.options = options,
	.run = run,
};
