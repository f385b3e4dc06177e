/* record_files.c - `roar record-files`: a step from what a program reports of itself.
 *
 * The report (event/self_report.h) is turned into events; from there on everything is as
 * after `roar run`. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/vec.h"
#include "capture/process_environment.h"
#include "commands.h"
#include "event/self_report.h"
#include "git/git.h"
#include "project/project.h"
#include "run/run.h"
#include "run/run_log.h"
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

/* ---- operations to events ---- */

struct replay {
	struct run *run;
	struct event *event; /* EVENT_SIZE_MAX bytes */
	int32_t pid;
	int64_t time_ns; /* of the last operation */
};

/* The name without symbolic links.  `follow`: of the file that it leads to. */
static void resolve(const char *path, bool follow, struct str *out)
{
	CLEANUP(str_release) struct str dir = STR_INIT;
	char real[PATH_MAX];

	if (follow && realpath(path, real)) {
		str_adds(out, real);
		return;
	}
	path_dirname(&dir, path);
	if (dir.failed || !realpath(dir.data, real)) {
		path_normalize(out, "/", path);
		return;
	}
	str_addf(out, "%s/%s", strcmp(real, "/") ? real : "",
		 path_basename(path));
}

static void fold_event(struct replay *p, const struct event *head,
		       const char *path, const char *path2)
{
	struct fold_change change;

	if (strlen(path) > EVENT_PATH_MAX || strlen(path2) > EVENT_PATH_MAX) {
		fold_add_gap(p->run->fold, EVENT_GAP_PATH, "");
		return;
	}
	memcpy(p->event, head, EVENT_HEADER);
	p->event->pid = p->pid;
	p->event->time_ns = p->time_ns;
	event_set_paths(p->event, path, strlen(path), path2, strlen(path2));
	(void)fold_add(p->run->fold, p->event, &change);
	intake_moved_dir(p->run, p->event);
}

/* The text of a symbolic link stays as it is. */
static const struct {
	uint8_t event;
	bool follow; /* path is that of the file a link leads to */
	bool is_text;
} kinds[] = {
	[SELF_REPORT_OPEN] = { EVENT_OPEN, true, false },
	[SELF_REPORT_RENAME] = { EVENT_RENAME, false, false },
	[SELF_REPORT_LINK] = { EVENT_LINK, false, false },
	[SELF_REPORT_SYMLINK] = { EVENT_SYMLINK, false, true },
	[SELF_REPORT_REMOVE] = { EVENT_UNLINK, false, false },
};

/* What moved, or was linked, is now at the new name; a report has no stamp of it. */
static void find_moved(const char *path2, struct event *head)
{
	struct stat st;

	if (lstat(path2, &st) < 0)
		return;
	head->before = stamp_of(&st);
	head->ftype = (uint8_t)event_ftype_of(st.st_mode);
}

/* A file that was opened for reading was not examined: if its status has not changed since,
 * it is what it was.  Else its stamp is one that it never has. */
static void examine_now(const char *path, int64_t opened_ns, struct event *head)
{
	struct stat st;

	head->ftype = EVENT_FTYPE_REGULAR;
	if (stat(path, &st) < 0)
		return;
	head->before = stamp_of(&st);
	head->ftype = (uint8_t)event_ftype_of(st.st_mode);
	if (head->before.ctime_ns > opened_ns)
		head->before.ctime_ns = head->before.mtime_ns = 0;
}

/* An open is reported before it succeeds or fails: one that has left the file as it was did
 * not empty it. */
static void check_emptied(const char *path, struct event *head)
{
	struct stamp now = { 0 };
	struct stat st;

	if (lstat(path, &st) == 0)
		now = stamp_of(&st);
	if (stamp_exists(&head->before) && stamp_equal(&now, &head->before))
		head->flags &= (uint16_t)~EVENT_TRUNC;
}

static int replay_item(struct replay *p, const struct self_report_item *item)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	CLEANUP(str_release) struct str path2 = STR_INIT;
	struct event head = {
		.kind = kinds[item->kind].event,
		.flags = (uint16_t)item->flags,
		.before = item->stamp,
		.ftype = item->mode ? (uint8_t)event_ftype_of(item->mode) :
				      EVENT_FTYPE_NONE,
	};

	if (kinds[item->kind].is_text)
		str_adds(&path, item->path);
	else
		resolve(item->path, kinds[item->kind].follow, &path);
	if (item->path2)
		resolve(item->path2, false, &path2);
	if (path.failed || path2.failed)
		return -ENOMEM;
	if (item->kind == SELF_REPORT_OPEN) {
		p->time_ns = item->number;
		if (item->flags == EVENT_READ && !item->mode)
			examine_now(str_cstr(&path), p->time_ns, &head);
		check_emptied(str_cstr(&path), &head);
	} else if (item->kind != SELF_REPORT_REMOVE) {
		find_moved(str_cstr(&path2), &head);
	}
	fold_event(p, &head, str_cstr(&path), str_cstr(&path2));
	return 0;
}

static int replay_all(struct replay *p, const struct str *text)
{
	struct self_report report = self_report_of(str_cstr(text), text->len);
	const struct event start = { .kind = EVENT_FORK, .flags = EVENT_ROOT };
	struct self_report_item item;
	int r = 0;

	fold_event(p, &start, "", "");
	while (r == 0 && self_report_next(&report, &item) > 0) {
		if (item.kind == SELF_REPORT_GAP)
			fold_add_gap(p->run->fold, EVENT_GAP_PYTHON, item.path);
		else if (item.kind >= SELF_REPORT_OPEN)
			r = replay_item(p, &item);
	}
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
	CLEANUP(freep) struct event *event = malloc(EVENT_SIZE_MAX);
	struct replay replay = { .run = run,
				 .event = event,
				 .pid = (int32_t)p->pid,
				 .time_ns = p->started_ns };
	int r = event ? run_meta_fill(run, p->argv) : -ENOMEM;

	if (r < 0)
		return r;
	run->meta.started_ns = p->started_ns;
	run->duration_ns = p->ended_ns - p->started_ns;
	run->total_start_ns = clock_mono_ns() - run->duration_ns;
	run->result.status = (int)p->exit_code << 8;
	if (p->pid == getppid())
		process_environments_read(run->process_environments,
					  (int32_t)p->pid, p->argv[0]);
	return replay_all(&replay, text);
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
