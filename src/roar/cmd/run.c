/* run.c - `roar run` and `roar build`: the main job
 *
 *	options, project, program     in the process the shell started
 *	front_run()                   which from here on only waits
 *	  observe_command()           start the tracer, collect events
 *	  finish()                    git facts, classify, record, report
 *
 * Whatever goes wrong on roar's side, the command runs: without a project, a
 * journal or a tracer it runs unobserved, and one sentence says so. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/path.h"
#include "commands.h"
#include "event/journal.h"
#include "event/note.h"
#include "lineage/tag.h"
#include "project/owner.h"
#include "project/project.h"
#include "run/clean_tree.h"
#include "run/close_watch.h"
#include "run/created_names.h"
#include "run/front.h"
#include "run/objects.h"
#include "run/options.h"
#include "run/program.h"
#include "run/report_file.h"
#include "run/rerun.h"
#include "run/run.h"
#include "run/run_log.h"
#include "run/run_proxy.h"
#include "run/situation.h"
#include "run/verdict.h"
#include "trace/hybrid/hybrid.h"

extern char **environ;

enum { GIT_WAIT_MS = 3000 };

/* What the two halves of the story share. */
struct story {
	struct run run;
	char **argv; /* as typed */
	char **envp;
	const char *file;
	int code;
	struct run_proxy proxy;
};

/* When the program began: what it costs counts from here. */
static int64_t start_ns;

/* ---- before ---- */

/* The command without roar: nothing is left of us. */
static int run_plain(char *const argv[], char *const *envp, const char *why)
{
	CLEANUP(str_release) struct str file = STR_INIT;
	int code = program_find(argv[0], run_environment_get(envp, "PATH"),
				&file);

	if (code)
		return code;
	(void)cli_fail("this run is not recorded: %s", why);
	report_file_setup(-1, why);
	front_restore();
	(void)execve(file.data, argv, envp);
	return program_failed(file.data, errno);
}

/* ---- during ---- */

static void name_journal(struct run *run)
{
	(void)snprintf(run->journal_name, sizeof(run->journal_name),
		       "runs/%s.journal", run->meta.uid);
}

static void open_journal(struct run *run)
{
	CLEANUP(str_release) struct str meta = STR_INIT;
	const char *name = run->journal_name;
	bool acted;
	int r;

	name_journal(run);
	run_meta_encode(&run->meta, &meta);
	r = str_error(&meta);
	acted = owner_act(run->project->dirfd);
	if (r == 0)
		r = journal_create(run->project->dirfd, name, meta.data,
				   meta.len, &run->journal);
	owner_act_as_self(acted);
	/* Earlier folders may be root's. */
	if (r < 0 && acted)
		r = journal_create(run->project->dirfd, name, meta.data,
				   meta.len, &run->journal);
	if (r < 0)
		fold_add_gap(run->fold, EVENT_GAP_JOURNAL, strerror(-r));
}

/* Its name is that of its birth, whatever uid the record got. */
static void remove_journal(struct run *run)
{
	note_remove_all(run->project->dirfd, path_basename(run->journal_name));
	(void)unlinkat(run->project->dirfd, run->journal_name, 0);
	journal_close(run->journal);
	run->journal = NULL;
}

static void append_rescued(void *ctx, const struct event *ev)
{
	struct run *run = ctx;

	(void)journal_append(run->journal, intake_redacted(run, ev));
}

/* In the front, whose tracer was killed: what programs had told and it had not read
 * goes to the journal.  That stays locked until the command has ended, so that
 * nobody records the run before. */
static void rescue(void *ctx, pid_t command)
{
	enum { TRIES = 50 };
	CLEANUP(str_release) struct str path = STR_INIT;
	struct story *s = ctx;
	struct run *run = &s->run;
	int r;

	name_journal(run);
	str_addf(&path, "%s/%s", run->project->dir, run->journal_name);
	r = str_error(&path);
	if (r == 0)
		r = journal_resume(AT_FDCWD, path.data, &run->journal);
	/* A child of the tracer may not have let it go yet. */
	for (int i = 0; r == -EBUSY && i < TRIES; i++) {
		(void)usleep(10000);
		r = journal_resume(AT_FDCWD, path.data, &run->journal);
	}
	if (r < 0)
		return;
	if (hybrid_recover(run->meta.uid, command, append_rescued, run) == 0)
		hybrid_forget(run->meta.uid);
}

/* Files that the command creates are not code that it started from. */
static bool is_made(void *ctx, const char *path, size_t len, bool young)
{
	const struct run *run = ctx;

	return created_names_has(run->created_names, path, len, young);
}

static struct git_state *look_at_git(struct run *run)
{
	CLEANUP(str_release) struct str cache = STR_INIT;
	struct git_options options = {
		.own_dir = run->project->dir,
		.no_snapshot = !run->project->config.git_snapshot,
		.is_made = is_made,
		.ctx = run,
	};
	struct git_state *look = NULL;

	if (created_names_new(&run->created_names) < 0)
		return NULL;
	str_addf(&cache, "%s/git-look", run->project->dir);
	if (str_error(&cache) == 0)
		(void)git_state_start(run->meta.cwd, cache.data, &options,
				      &look);
	if (!look) {
		created_names_free(run->created_names);
		run->created_names = NULL;
	}
	return look;
}

static void on_stopped(void *ctx, int sig)
{
	const struct run *run = ctx;

	front_stop(run->front, sig);
}

/* The tracer was refused, before the command could run: on to `next`.  The journal
 * tells who observes, so it starts anew. */
static void change_tracer(struct story *s, const struct tracer_ops *next,
			  const char *why)
{
	struct run *run = &s->run;
	const struct run_options *o = &run->options;

	if (!o->quiet && (o->verbose || o->tracer_named))
		(void)fprintf(stderr, "roar: tracer %s: %s; using %s instead\n",
			      o->tracer->name, why, next->name);
	run->options.tracer = next;
	run->meta.tracer = next->name;
	atomic_store(&s->run.front->control->command, 0);
	remove_journal(run);
	open_journal(run);
}

static int start_tracer(struct story *s, const struct tracer_job *job,
			struct tracer **ret, struct roar_error *err)
{
	struct run_options *o = &s->run.options;
	int r = -ENOENT;

	for (size_t i = 0; i < o->n_tracers; i++) {
		if (i)
			change_tracer(s, o->tracers[i], err->text);
		r = tracer_start(o->tracer, job, ret, err);
		if (r == 0)
			return 0;
		probe_remember(o->tracer, r, err->text);
	}
	if (!o->fallback)
		return r;
	/* All are refused: better unobserved than not at all. */
	fold_add_gap(s->run.fold, EVENT_GAP_UNTRACED, err->text);
	change_tracer(s, &tracer_none, err->text);
	return tracer_start(&tracer_none, job, ret, err);
}

static int observe_command(struct story *s, struct tracer **ret_tracer,
			   struct roar_error *err)
{
	struct run *run = &s->run;
	/* The tracer keeps a pointer to its job. */
	static struct tracer_job job;
	int64_t start = clock_mono_ns();
	int r;

	job = (struct tracer_job){
		.file = s->file,
		.argv = s->argv,
		.envp = s->envp,
		.mask = s->run.front->mask,
		.ignored = s->run.front->ignored,
		.control = s->run.front->control,
		.run = run->meta.uid,
		.sink = intake_event,
		.before_change = intake_before_change,
		.before_unmount = intake_before_unmount,
		.tick = intake_tick,
		.stopped = on_stopped,
		.sums = &run->sums,
		.ctx = run,
	};
	r = start_tracer(s, &job, ret_tracer, err);
	if (r < 0)
		return r;
	/* The command has its descriptors; ours would keep pipes open. */
	front_let_go();
	front_witness(run->front);
	run->attach_ns = clock_mono_ns() - start;
	start = clock_mono_ns();
	r = tracer_run(*ret_tracer, &run->result, err);
	run->duration_ns = clock_mono_ns() - start;
	run->attach_ns += atomic_load(&job.control->gate_ns) - start;
	return r;
}

/* ---- after ---- */

static void note_end(struct story *s)
{
	struct run *run = &s->run;
	int status = run->result.status;
	int n = front_count_interrupts(run->front, status);

	/* It went on and ended before its tracer could tell. */
	if (atomic_exchange(&s->run.front->control->stopped, 0))
		front_stop(run->front, SIGCONT);
	if (atomic_load(&s->run.front->control->kill_all) ||
	    (n && (WIFSIGNALED(status) || WEXITSTATUS(status) > 128)))
		run->interrupted = true;
	if (run->result.n_outlived)
		fold_add_gap(run->fold, EVENT_GAP_OUTLIVED, "");
	s->code = verdict_command_code(run);
	front_ended(run->front, status,
		    (run->journal ? FRONT_JOURNAL : 0) |
			    (run->result.n_outlived ? FRONT_SERVES : 0));
}

/* Records the run, and reports it if the report is a part of what is recorded. */
static int record_run(struct run *run, bool *ret_reported,
		      struct roar_error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	int r = project_store_create(run->project, &store, err);

	if (r < 0)
		return r;
	r = record_begin(run, store, err);
	if (r == -EEXIST) {
		run_meta_new_uid(&run->meta);
		r = record_begin(run, store, err);
	}
	if (r < 0)
		return r;
	*ret_reported = report_is_output(run);
	if (*ret_reported)
		report_into_output(run);
	return record_commit(run, store, err);
}

static void finish(struct story *s, struct git_state *look)
{
	struct run *run = &s->run;
	struct roar_error err = { "out of memory" };
	bool reported = false;
	int r;

	note_end(s);
	run_proxy_end(&s->proxy, run);
	(void)git_state_finish(look, GIT_WAIT_MS, &run->git);
	r = run_classify(run);
	situation_collect(run);
	if (r == 0)
		r = record_run(run, &reported, &err);
	if (r < 0) {
		(void)cli_fail("the run could not be recorded: %s%s", err.text,
			       run->journal ? "; its journal is kept, and the "
					      "next roar command completes "
					      "the record" :
					      "");
		run_log_end(run, err.text);
		s->code = verdict_code(run, s->code, false);
		report_file_end(run, s->code, err.text);
		return;
	}
	remove_journal(run);
	objects_remove(run->project->dirfd, run_birth_uid(run));
	kept_content_add(run);
	run_log_end(run, NULL);
	if (!reported)
		report_print(run);
	s->code = verdict_code(run, s->code, true);
	report_file_end(run, s->code, NULL);
}

struct finisher {
	struct story *story;
	struct git_state *look;
};

static void *finish_apart(void *ctx)
{
	struct finisher *f = ctx;

	finish(f->story, f->look);
	front_leave(f->story->run.front, f->story->code);
	return NULL;
}

/* Processes outlive the command: they must be served while we hash and record,
 * and the shell must not wait for them. */
static void finish_and_linger(struct story *s, struct git_state *look,
			      struct tracer *tracer)
{
	struct finisher f = { s, look };
	pthread_t thread;

	if (pthread_create(&thread, NULL, finish_apart, &f) != 0) {
		(void)finish_apart(&f);
		tracer_linger(tracer);
		return;
	}
	tracer_linger(tracer);
	(void)pthread_join(thread, NULL);
}

/* The tracer's process, from start to end. */
static int tell_story(struct front *front, void *ctx)
{
	CLEANUP(tracer_freep) struct tracer *tracer = NULL;
	struct roar_error err = { "" };
	struct story *s = ctx;
	struct run *run = &s->run;
	struct git_state *look;
	int r;

	run->front = front;
	look = look_at_git(run);
	if (look)
		run_meta_note_git(run, look);
	open_journal(run);
	r = observe_command(s, &tracer, &err);
	if (run->created_names)
		created_names_end(run->created_names);
	if (r < 0 || run->result.exec_errno) {
		(void)git_state_finish(look, 0, &run->git);
		run_proxy_end(&s->proxy, run);
		remove_journal(run);
		objects_remove(run->project->dirfd, run_birth_uid(run));
		r = r < 0 ? cli_fail("the command was not run: %s", err.text) :
			    program_failed(s->file, run->result.exec_errno);
		report_file_setup(r, cli_last_message());
		return r;
	}
	close_watch_abandon(run->close_watch);
	if (run->result.n_outlived)
		finish_and_linger(s, look, tracer);
	else
		finish(s, look);
	return s->code;
}

/* ---- the command ---- */

static int run_in_project(const struct args *args, struct project *project,
			  struct pool *pool, const struct run_tags *given,
			  const struct rerun *command, bool *ret_told)
{
	CLEANUP(str_release) struct str file = STR_INIT;
	struct run_options options = { 0 };
	/* Too large for a stack that a signal may hit; one run per process. */
	static struct story story;
	struct front_body body = { tell_story, rescue, &story, -1 };
	struct run *run = &story.run;
	char **argv = command->argv;
	char **envp;
	int r = run_options_parse(args, &project->config, &options);

	if (r)
		return r;
	if (project->config.require_clean) {
		r = clean_tree_require(project);
		if (r)
			return r;
	}
	options.kind = command->kind;
	options.rerun_of = command->job_id;
	if (command->name && !args_has(args, "name"))
		options.name = command->name;
	if (command->proxy && !args_has(args, "no-proxy"))
		options.proxy = true;
	options.tags = *given;
	if (!options.quiet)
		run_tags_warn(&options.tags);
	story.argv = argv;
	envp = run_environment(pool, &project->config);
	options.envp = envp;
	r = run_group_parse(args, envp, &options.group);
	if (r)
		return r;
	r = run_tags_inherit(pool, &options.tags, &command->tags);
	if (r == 0)
		r = run_init(run, project, &options);
	run->total_start_ns = start_ns;
	if (r == 0)
		r = run_meta_fill(run, argv);
	if (r < 0)
		return run_plain(argv, envp, strerror(-r));
	r = program_find(argv[0], run_environment_get(envp, "PATH"), &file);
	if (r)
		return r;
	story.file = file.data;
	story.envp = run_proxy_start(&story.proxy, run, envp);
	body.keep_fd = story.proxy.process.end_fd;
	r = front_run(&body, options.quiet);
	if (r < 0) {
		run_proxy_end(&story.proxy, run);
		objects_remove(project->dirfd, run->meta.uid);
		return run_plain(argv, envp, strerror(-r));
	}
	*ret_told = true;
	return r;
}

/* The words of the command: typed, or those of a recorded step. */
static int choose_command(const struct args *args, struct project *project,
			  struct pool *pool, struct rerun *ret)
{
	struct roar_error err;
	int r;

	*ret = (struct rerun){ .argv = args->operands,
			       .kind = args->command->name };
	if (!rerun_is_step(args->operands[0]))
		return 0;
	r = rerun_command(project, pool, args, ret, &err);
	if (r < 0)
		return cli_fail("%s", err.text);
	if (chdir(ret->cwd) < 0)
		return cli_fail("cannot change to '%s', where the step ran: %s",
				ret->cwd, strerror(errno));
	free(project->cwd);
	project->cwd = strdup(ret->cwd);
	return project->cwd ? 0 : cli_fail("out of memory");
}

/* A mistake in the settings costs neither the record nor the other settings. */
static void warn_of_settings(const struct config *c)
{
	CLEANUP(str_release) struct str more = STR_INIT;

	if (c->n_mistakes > 1)
		str_addf(&more, " (and %zu more: 'roar config list')",
			 c->n_mistakes - 1);
	if (c->n_redact_names &&
	    !strcmp(c->redact_names[c->n_redact_names - 1], "*"))
		str_adds(&more,
			 "; until this is fixed, the values of all options and "
			 "variables are recorded as [REDACTED]");
	(void)cli_fail("%s%s", c->mistakes[0], str_cstr(&more));
}

/* Opens the project, or makes one where there is a command to be recorded: not for
 * a step, which is in a project already, nor for a command that does not exist.  A
 * positive result is an exit status; the reason was said. */
static int open_project(const struct args *args, struct project *project,
			bool *created, struct roar_error *err)
{
	CLEANUP(str_release) struct str file = STR_INIT;
	int r = project_open(0, project, NULL, err);

	if (r == -ENOENT && !rerun_is_step(args->operands[0])) {
		r = program_find(args->operands[0], getenv("PATH"), &file);
		if (r)
			return r;
		r = project_open(PROJECT_CREATE, project, created, err);
	}
	if (r == 0 && project->config.n_mistakes && !args_has(args, "quiet") &&
	    project->config.verbosity != VERBOSITY_QUIET)
		warn_of_settings(&project->config);
	return r;
}

static int run_here(const struct args *args, bool *ret_told)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(project_release) struct project project = { .dirfd = -1 };
	struct roar_error err;
	struct run_tags tags;
	struct rerun command;
	bool created = false;
	/* First, because wrong usage leaves no project behind. */
	int r = run_tags_parse(args, &pool, &tags);

	if (r == 0 && rerun_is_step(args->operands[0]) &&
	    rerun_check(args->operands, args->command->name, &err) < 0)
		r = cli_usage(args->command, "%s", err.text);
	if (r)
		return r;
	r = open_project(args, &project, &created, &err);
	if (r > 0)
		return r;
	if (r < 0 && rerun_is_step(args->operands[0]))
		return cli_fail("%s", err.text);
	if (r < 0)
		return run_plain(args->operands, environ, err.text);
	/* Before the command writes over what a killed one has left. */
	project_recover(&project);
	if (created && !args_has(args, "quiet"))
		(void)fprintf(stderr, "roar: initialised %s\n", project.dir);
	r = choose_command(args, &project, &pool, &command);
	if (r)
		return r;
	return run_in_project(args, &project, &pool, &tags, &command, ret_told);
}

static int run(const struct args *args)
{
	bool told = false; /* by the tracer's process, which knows more */
	int r;

	start_ns = clock_mono_ns();
	report_file_prepare();
	r = run_here(args, &told);
	if (!told)
		report_file_setup(r, cli_last_message());
	return r;
}

static const struct example run_examples[] = {
	{ "roar run python train.py --epochs 10",
	  "record the files that the training reads and writes" },
	{ "roar run sh -c 'sort < a.csv | uniq > b.csv'",
	  "a shell pipeline is one step" },
	{ "roar run --add-tag license=CC-BY-4.0 python fetch.py",
	  "the data and everything made from it have this licence" },
	{ "roar run @2", "run step 2 of the session again" },
	{ "roar run @2 --epochs=20", "the same with another argument" },
	{ 0 },
};

static const struct example build_examples[] = {
	{ "roar build make -j4", "record how the native parts were built" },
	{ 0 },
};

#define RUN_EXIT                                                             \
	"The exit status is the command's; 128 + N when signal N ended it; " \
	"127 when it was not found and 126 when it could not be executed "   \
	"(nothing is recorded then); 2 for wrong usage; 1 when the tracer "  \
	"was refused and --no-tracer-fallback forbade to go on; 125 when "   \
	"the command succeeded, its record is incomplete, and the setting "  \
	"run.require_complete asks for complete ones."

const struct command cmd_run = {
	.name = "run",
	.group = GROUP_START,
	.summary = "run a command and record what it read and wrote",
	.synopsis = "[OPTION]... COMMAND [ARG]... | @STEP [--KEY=VALUE]...",
	.about =
#include "run.txt.inc"
		,
	.options = run_option_table,
	.examples = run_examples,
	.exit_status = RUN_EXIT,
	.operand = OPERAND_COMMAND,
	.stops_at_operand = true,
	.min_operands = 1,
	.max_operands = -1,
	.run = run,
};

const struct command cmd_build = {
	.name = "build",
	.group = GROUP_START,
	.summary = "run a build or set-up command and record it as such",
	.synopsis = "[OPTION]... COMMAND [ARG]... | @BSTEP [--KEY=VALUE]...",
	.about =
#include "build.txt.inc"
		,
	.options = run_option_table,
	.examples = build_examples,
	.exit_status = RUN_EXIT,
	.operand = OPERAND_COMMAND,
	.stops_at_operand = true,
	.min_operands = 1,
	.max_operands = -1,
	.run = run,
};
