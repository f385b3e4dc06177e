/* cmd_run.c - `roar run` and `roar build`: the main job
 *
 *	options, project, program     in the process the shell started
 *	front_run()                   which from here on only waits
 *	  observe_command()           start the tracer, collect events
 *	  finish()                    git facts, settle, record, report
 *
 * Whatever goes wrong on roar's side, the command runs: without a project, a
 * journal or a tracer it runs unobserved, and one sentence says so. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/quote.h"
#include "commands.h"
#include "event/journal.h"
#include "lineage/redact.h"
#include "project.h"
#include "run/front.h"
#include "run/made.h"
#include "run/program.h"
#include "run/rerun.h"
#include "run/run.h"

extern char **environ;

enum { GIT_WAIT_MS = 3000 };

/* What the two halves of the story share. */
struct story {
	struct run run;
	struct front *front;
	char **argv; /* as typed */
	char **envp;
	const char *file;
	const char *note; /* why it is not observed; NULL */
	int code;
};

/* ---- before ---- */

static int parse_hashes(const struct args *args, digest_set *want)
{
	for (size_t i = 0; i < args->n_options; i++) {
		const struct arg_value *v = &args->options[i];
		int algo;

		if (strcmp(v->spec->name, "hash") != 0)
			continue;
		algo = digest_algo_parse(v->value);
		if (algo < 0)
			return cli_usage(args->command,
					 "unknown hash '%s': blake3, sha256, "
					 "sha512 and md5 are known",
					 v->value);
		*want |= (digest_set)1 << algo;
	}
	return 0;
}

/* 0, or an exit code. */
static int parse_options(const struct args *args, const struct project *p,
			 struct run_options *o)
{
	const char *tracer = args_get(args, "tracer");

	o->name = args_get(args, "name") ? args_get(args, "name") : "";
	o->verbose = args_count(args, "verbose");
	o->quiet = args_has(args, "quiet");
	o->fallback = p->config.tracer_fallback;
	o->want = p->config.hash_run;
	if (!o->quiet && !o->verbose) {
		o->quiet = p->config.verbosity == VERBOSITY_QUIET;
		if (p->config.verbosity > VERBOSITY_NORMAL)
			o->verbose = (int)p->config.verbosity - 1;
	}
	for (size_t i = 0; i < args->n_options; i++) {
		if (strcmp(args->options[i].spec->name, "tracer-fallback") == 0)
			o->fallback = true;
		if (strcmp(args->options[i].spec->name, "no-tracer-fallback") ==
		    0)
			o->fallback = false;
	}
	if (!tracer)
		tracer = p->config.tracer;
	o->tracer = tracer_find(tracer);
	if (!o->tracer)
		return cli_usage(args->command,
				 "unknown tracer '%s': auto and "
				 "ptrace are known",
				 tracer);
	return parse_hashes(args, &o->want);
}

/* The environment of the command: ours and `roar env`'s. */
static char **make_environment(struct pool *pool, const struct config *c)
{
	size_t n = 0;
	size_t k = 0;
	char **envp;

	if (!c->n_env)
		return environ;
	while (environ[n])
		n++;
	envp = pool_zalloc(pool, (n + c->n_env + 1) * sizeof(*envp));
	if (!envp)
		return environ;
	for (size_t i = 0; i < n; i++) {
		size_t len = strcspn(environ[i], "=") + 1;
		bool replaced = false;

		for (size_t e = 0; e < c->n_env && !replaced; e++)
			replaced = strncmp(environ[i], c->env[e], len) == 0;
		if (!replaced)
			envp[k++] = environ[i];
	}
	for (size_t e = 0; e < c->n_env; e++)
		envp[k++] = c->env[e];
	return envp;
}

static const char *get_env(char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; envp[i]; i++)
		if (strncmp(envp[i], name, len) == 0 && envp[i][len] == '=')
			return envp[i] + len + 1;
	return NULL;
}

static void new_uid(char uid[9])
{
	uint8_t bytes[4];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) {
		int64_t now = clock_now_ns() ^ (int64_t)getpid() << 20;

		memcpy(bytes, &now, sizeof(bytes));
	}
	digest_hex(uid, bytes, sizeof(bytes));
}

static const char *user_name(struct pool *pool)
{
	/* getpwuid() would load the name service: too slow for every run. */
	const char *name = getenv("USER");

	if (!name || !*name)
		name = getenv("LOGNAME");
	if (name && *name)
		return name;
	return pool_printf(pool, "uid %u", (unsigned)getuid());
}

static int fill_meta(struct run *run, char *const argv[])
{
	struct run_meta *m = &run->meta;
	char host[256] = "";
	char **clean;
	int r = redact_words(run->redact, argv, &run->pool, &clean);

	if (r < 0)
		return r;
	(void)gethostname(host, sizeof(host) - 1);
	new_uid(m->uid);
	m->kind = run->options.kind;
	m->name = run->options.name;
	m->argv = clean;
	m->cwd = run->project->cwd;
	m->tracer = run->options.tracer->name;
	m->host = pool_strdup(&run->pool, host);
	m->user = user_name(&run->pool);
	m->started_ns = clock_now_ns();
	return m->host && m->user ? 0 : -ENOMEM;
}

/* The command without roar: nothing is left of us. */
static int run_plain(char *const argv[], char *const *envp, const char *why)
{
	CLEANUP(str_release) struct str file = STR_INIT;
	int code = program_find(argv[0], get_env(envp, "PATH"), &file);

	if (code)
		return code;
	(void)cli_fail("this run is not recorded: %s", why);
	(void)execve(file.data, argv, envp);
	return program_failed(file.data, errno);
}

/* ---- during ---- */

static void journal_name(const struct run *run, char name[32])
{
	(void)snprintf(name, 32, "runs/%s.journal", run->meta.uid);
}

static void open_journal(struct run *run)
{
	CLEANUP(str_release) struct str meta = STR_INIT;
	char name[32];
	int r;

	journal_name(run, name);
	run_meta_encode(&run->meta, &meta);
	r = str_error(&meta);
	if (r == 0)
		r = journal_create(run->project->dirfd, name, meta.data,
				   meta.len, &run->journal);
	if (r < 0)
		fold_add_gap(run->fold, EVENT_GAP_JOURNAL, strerror(-r));
}

static void remove_journal(struct run *run)
{
	char name[32];

	journal_name(run, name);
	(void)unlinkat(run->project->dirfd, name, 0);
	journal_close(run->journal);
	run->journal = NULL;
}

/* Files that are no code of the tree the command started from: what it has made
 * itself, secrets, installed packages. */
static bool is_no_code(void *ctx, const char *path, size_t len)
{
	const struct run *run = ctx;
	enum filter_id id = filter_match(&run->filters, path, false);

	return made_has(run->made, path, len) || id == FILTER_CREDENTIALS ||
	       id == FILTER_PACKAGES;
}

static struct git_look *look_at_git(struct run *run)
{
	CLEANUP(str_release) struct str cache = STR_INIT;
	struct git_options options = {
		.own_dir = run->project->dir,
		.no_snapshot = !run->project->config.git_snapshot,
		.is_made = is_no_code,
		.ctx = run,
	};
	struct git_look *look = NULL;

	if (made_new(&run->made) < 0)
		return NULL;
	str_addf(&cache, "%s/git-look", run->project->dir);
	if (str_error(&cache) == 0)
		(void)git_look_start(run->meta.cwd, cache.data, &options,
				     &look);
	if (!look) {
		made_free(run->made);
		run->made = NULL;
	}
	return look;
}

static void on_stopped(void *ctx, int sig)
{
	struct run *run = ctx;
	struct story *story = (struct story *)run;

	front_stop(story->front, sig);
}

static int start_tracer(struct story *s, const struct tracer_job *job,
			struct tracer **ret, struct roar_error *err)
{
	struct run *run = &s->run;
	int r = tracer_start(run->options.tracer, job, ret, err);

	if (r == 0 || !run->options.fallback)
		return r;
	/* Refused here: better unobserved than not at all. */
	fold_add_gap(run->fold, EVENT_GAP_UNTRACED, err->text);
	run->meta.tracer = "none";
	return tracer_start(&tracer_none, job, ret, err);
}

static int observe_command(struct story *s, struct tracer **ret_tracer,
			   struct roar_error *err)
{
	struct run *run = &s->run;
	/* The tracer keeps a pointer to its job. */
	static struct tracer_job job;
	int64_t start;
	int r;

	job = (struct tracer_job){
		.file = s->file,
		.argv = s->argv,
		.envp = s->envp,
		.mask = s->front->mask,
		.ignored = s->front->ignored,
		.control = s->front->control,
		.sink = observe_event,
		.before_change = observe_before_change,
		.tick = observe_tick,
		.stopped = on_stopped,
		.ctx = run,
	};
	r = start_tracer(s, &job, ret_tracer, err);
	if (r < 0)
		return r;
	/* The command has its descriptors; ours would keep pipes open. */
	front_let_go();
	start = clock_mono_ns();
	r = tracer_run(*ret_tracer, &run->result, err);
	run->duration_ns = clock_mono_ns() - start;
	return r;
}

/* ---- after ---- */

static void note_end(struct story *s)
{
	struct run *run = &s->run;
	int n = atomic_load(&s->front->control->n_interrupts);
	int status = run->result.status;

	if (atomic_load(&s->front->control->kill_all) ||
	    (n && (WIFSIGNALED(status) || WEXITSTATUS(status) > 128)))
		run->interrupted = true;
	if (run->result.n_outlived)
		fold_add_gap(run->fold, EVENT_GAP_OUTLIVED, "");
	s->code = run_exit_code(run);
}

static int record_run(struct run *run, struct roar_error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	int r = store_open(run->project->dir, STORE_CREATE, &store, err);

	if (r < 0)
		return r;
	r = record(run, store, err);
	if (r == -EEXIST) {
		new_uid(run->meta.uid);
		r = record(run, store, err);
	}
	return r;
}

static void finish(struct story *s, struct git_look *look)
{
	struct run *run = &s->run;
	struct roar_error err = { "out of memory" };
	int r;

	note_end(s);
	(void)git_look_finish(look, GIT_WAIT_MS, &run->git);
	r = settle(run);
	if (r == 0)
		r = record_run(run, &err);
	if (r < 0) {
		(void)cli_fail("the run could not be recorded: %s%s", err.text,
			       run->journal ? "; its journal is kept, and the "
					      "next roar command completes "
					      "the record" :
					      "");
		return;
	}
	remove_journal(run);
	report(run);
	if (getenv("ROAR_TIMING"))
		report_timing(run);
}

struct finisher {
	struct story *story;
	struct git_look *look;
};

static void *finish_apart(void *ctx)
{
	struct finisher *f = ctx;

	finish(f->story, f->look);
	front_leave(f->story->front, f->story->code);
	return NULL;
}

/* Processes outlive the command: they must be served while we hash and record,
 * and the shell must not wait for them. */
static void finish_and_linger(struct story *s, struct git_look *look,
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
	struct git_look *look;
	int r;

	s->front = front;
	open_journal(run);
	look = look_at_git(run);
	r = observe_command(s, &tracer, &err);
	if (r < 0 || run->result.exec_errno) {
		(void)git_look_finish(look, 0, &run->git);
		remove_journal(run);
		if (r < 0)
			return cli_fail("the command was not run: %s",
					err.text);
		return program_failed(s->file, run->result.exec_errno);
	}
	if (run->result.n_outlived)
		finish_and_linger(s, look, tracer);
	else
		finish(s, look);
	return s->code;
}

/* ---- the command ---- */

static int run_in_project(const struct args *args, struct project *project,
			  struct pool *pool, const struct rerun *command)
{
	CLEANUP(str_release) struct str file = STR_INIT;
	struct run_options options = { 0 };
	/* Too large for a stack that a signal may hit; one run per process. */
	static struct story story;
	struct run *run = &story.run;
	char **argv = command->argv;
	int r = parse_options(args, project, &options);

	if (r)
		return r;
	options.kind = command->kind;
	story.argv = argv;
	story.envp = make_environment(pool, &project->config);
	options.envp = story.envp;
	r = run_init(run, project, &options);
	run->total_start_ns = clock_mono_ns();
	if (r == 0)
		r = fill_meta(run, argv);
	if (r < 0)
		return run_plain(argv, story.envp, strerror(-r));
	r = program_find(argv[0], get_env(story.envp, "PATH"), &file);
	if (r)
		return r;
	story.file = file.data;
	r = front_run(tell_story, &story);
	if (r < 0)
		return run_plain(argv, story.envp, strerror(-r));
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
	r = rerun_check(args->operands, args->command->name, &err);
	if (r < 0)
		return cli_usage(args->command, "%s", err.text);
	r = rerun_command(project, pool, args->operands,
			  args_has(args, "quiet"), ret, &err);
	if (r < 0)
		return cli_fail("%s", err.text);
	if (chdir(ret->cwd) < 0)
		return cli_fail("cannot go to '%s', where the step ran: %s",
				ret->cwd, strerror(errno));
	free(project->cwd);
	project->cwd = strdup(ret->cwd);
	return project->cwd ? 0 : cli_fail("out of memory");
}

/* A mistake in the settings must not cost the record. */
static int open_project(struct project *project, bool *created,
			struct roar_error *err)
{
	int r = project_open(PROJECT_CREATE, project, created, err);

	if (r != -EINVAL || project_open(PROJECT_CREATE | PROJECT_NO_CONFIG,
					 project, created, NULL) < 0)
		return r;
	(void)cli_fail("%s; this run uses the default settings", err->text);
	return config_defaults(&project->config);
}

static int run(const struct args *args)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(project_release) struct project project = { .dirfd = -1 };
	struct roar_error err;
	struct rerun command;
	bool created = false;
	int r = open_project(&project, &created, &err);

	if (r < 0)
		return run_plain(args->operands, environ, err.text);
	/* Before the command writes over what a killed one has left. */
	project_recover(&project);
	if (created && !args_has(args, "quiet"))
		(void)fprintf(stderr, "roar: initialised %s\n", project.dir);
	r = choose_command(args, &project, &pool, &command);
	if (r)
		return r;
	return run_in_project(args, &project, &pool, &command);
}

static const struct option_spec options[] = {
	{ .name = "quiet",
	  .letter = 'q',
	  .help = "say nothing; the command's own output is untouched" },
	{ .name = "verbose",
	  .letter = 'v',
	  .flags = OPTION_REPEAT,
	  .help = "list files; -vv lists filtered files as well" },
	{ .name = "name",
	  .letter = 'n',
	  .arg = "NAME",
	  .help = "a name for the step" },
	{ .name = "hash",
	  .arg = "ALGO",
	  .flags = OPTION_REPEAT,
	  .values = "blake3|sha256|sha512|md5",
	  .help = "take this digest, too (BLAKE3 is always taken)" },
	{ .name = "tracer",
	  .arg = "NAME",
	  .values = "auto|ptrace",
	  .help = "how to observe the command" },
	{ .name = "tracer-fallback",
	  .help = "run unobserved when the tracer is refused (default)" },
	{ .name = "no-tracer-fallback",
	  .help = "do not run the command when the tracer is refused" },
	{ 0 },
};

static const struct example run_examples[] = {
	{ "roar run python train.py --epochs 10",
	  "record what the training read and wrote" },
	{ "roar run sh -c 'sort < a.csv | uniq > b.csv'",
	  "a shell pipeline is one step" },
	{ "roar run @2", "run step 2 of the session again" },
	{ "roar run @2 --epochs=20", "the same with another parameter" },
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
	"was refused and --no-tracer-fallback forbade to go on."

const struct command cmd_run = {
	.name = "run",
	.group = GROUP_START,
	.summary = "run a command and record what it read and wrote",
	.synopsis = "[OPTION]... COMMAND [ARG]... | @STEP [--KEY=VALUE]...",
	.about = "Runs COMMAND exactly as it would run by itself: same input "
		 "and output, terminal, signals, limits and exit status. "
		 "Every file that it or its children read, wrote, renamed or "
		 "removed is recorded by content hash in .roar/roar.db, "
		 "which is made when it is missing.\n\n"
		 "The record ends in a verdict: complete, or incomplete with "
		 "the reasons. Uncommitted code never stops a run; in a git "
		 "repository commit, branch, remote and a snapshot of what "
		 "is not committed are recorded (as objects under "
		 "refs/roar/).\n\n"
		 "@STEP stands for the command of a recorded step, run again "
		 "in its directory; --KEY=VALUE replaces that option of the "
		 "command, or is added to it.\n\n"
		 "All of roar's words go to standard error: a block on a "
		 "terminal, one line elsewhere, none with -q. ROAR_TIMING=1 "
		 "prints where the time went, as JSON.",
	.options = options,
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
	.about = "The same as roar run, for what comes before the pipeline: "
		 "compiling, installing. Build steps are counted apart, as "
		 "@B1, @B2, and run first when an artifact is reproduced.",
	.options = options,
	.examples = build_examples,
	.exit_status = RUN_EXIT,
	.operand = OPERAND_COMMAND,
	.stops_at_operand = true,
	.min_operands = 1,
	.max_operands = -1,
	.run = run,
};
