/* rerun.c - `roar rerun`: brings stale and outdated steps up to date. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "commands.h"
#include "hash/user_cache.h"
#include "project/owner.h"
#include "query/target.h"
#include "rerun/rerun_work.h"
#include "ui/view.h"

/* ---- which steps ---- */

/* The node of a step that the user named. */
static int find_node(struct rerun_work *w, const char *word, uint32_t *ret,
		     struct roar_error *err)
{
	const struct pipeline *p = &w->pipeline;
	struct view *v = w->view;
	struct target target;
	int r = target_resolve(&v->query, v->project.cwd, word, TARGET_WANT_JOB,
			       &target, err);

	if (r < 0)
		return r;
	if (v->has_session && target.job.session_id != v->session.id)
		return error_set(err, -EINVAL,
				 "'%s' is in another session: only steps of "
				 "the active one can be run again",
				 word);
	for (uint32_t i = 0; i < p->n_nodes; i++) {
		const struct store_job *job = pipeline_job(p, i);

		*ret = i;
		if (job->step == target.job.step &&
		    !strcmp(job->kind, target.job.kind))
			return 0;
	}
	return error_set(err, -ENOENT, "'%s' is no step of the session", word);
}

static int read_wish(struct rerun_work *w, const struct args *args,
		     struct rerun_wish *ret, struct roar_error *err)
{
	size_t n = (size_t)args->n_operands;
	uint32_t *nodes = pool_alloc(&w->view->pool, (n + 1) * sizeof(*nodes));
	int r = nodes ? 0 : -ENOMEM;

	*ret = (struct rerun_wish){
		.nodes = n ? nodes : NULL,
		.n = n,
		.force = args_has(args, "force"),
		.downstream = args_has(args, "downstream"),
	};
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = find_node(w, args->operands[i], &nodes[i], err);
	return r;
}

static int make_plan(struct rerun_work *w, const struct args *args,
		     struct roar_error *err)
{
	struct view *v = w->view;
	CLEANUP(presence_look_release)
	struct presence_look look = { .budget = UINT64_MAX,
				      .open_cache = user_cache_open,
				      .pool = &v->pool };
	struct rerun_wish wish;
	int r = pipeline_load(&v->query, v->has_session ? v->session.id : 0, 0,
			      &w->pipeline, err);

	if (r >= 0)
		r = read_wish(w, args, &wish, err);
	if (r >= 0)
		r = rerun_plan_make(&w->pipeline, &wish, &look, &v->pool,
				    &w->plan);
	if (r < 0)
		return r;
	w->failed = w->plan.n;
	w->fates = pool_zalloc(&v->pool, (w->plan.n + 1) * sizeof(*w->fates));
	if (!w->fates)
		return -ENOMEM;
	for (size_t i = 0; i < w->plan.n; i++)
		w->fates[i].out = w->fates[i].err = -1;
	return 0;
}

/* ---- running them ---- */

/* Two at once would run the same steps twice.  The lock is free when its process ends,
 * however it does. */
static int lock(const struct rerun_work *w, int *ret_fd, struct roar_error *err)
{
	const struct project *project = &w->view->project;
	bool acted = owner_act(project->dirfd);
	int fd = openat(project->dirfd, "rerun.lock",
			O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int e = errno;

	owner_act_as_self(acted);
	if (fd < 0)
		return error_set(err, -e, "cannot open '%s/rerun.lock': %s",
				 project->dir, strerror(e));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		e = errno;
		closep(&fd);
		return error_set(
			err, -e,
			e == EWOULDBLOCK ?
				"another 'roar rerun' is at work in "
				"this project: wait until it has ended" :
				"cannot lock the project: %s",
			strerror(e));
	}
	*ret_fd = fd;
	return 0;
}

/* The plan comes first, where it is no part of the result. */
static int run_plan(struct rerun_work *w)
{
	struct str *out = &w->view->out;
	int code = 0;

	if (!w->quiet && (w->plan.n || !w->json)) {
		rerun_print_plan(w);
		if (str_error(out) == 0)
			(void)fwrite(out->data, 1, out->len, stderr);
		str_clear(out);
	}
	if (w->plan.n)
		code = rerun_steps_run(w);
	if (w->json)
		rerun_print_json(w, false);
	return code;
}

static int rerun(struct rerun_work *w, const struct args *args)
{
	bool dry_run = args_has(args, "dry-run");
	CLEANUP(closep) int lock_fd = -1;
	struct roar_error err = { 0 };
	int code = 0;
	int r = dry_run ? 0 : lock(w, &lock_fd, &err);

	if (r >= 0)
		r = make_plan(w, args, &err);
	if (r < 0)
		return view_fail(r, &err);
	if (!dry_run)
		code = run_plan(w);
	else if (w->json)
		rerun_print_json(w, true);
	else
		rerun_print_plan(w);
	r = view_print(w->view);
	return code ? code : r;
}

static int check_operands(const struct args *args)
{
	struct target_step step;
	struct roar_error err;

	for (int i = 0; i < args->n_operands; i++) {
		const char *word = args->operands[i];

		if (!target_is_step(word))
			return cli_usage(args->command,
					 "'%s' is not a step: use @N or @BN",
					 word);
		if (target_parse_step(word, &step, &err) < 0)
			return cli_usage(args->command, "%s", err.text);
		if (step.attempt)
			return cli_usage(args->command,
					 "'%s' is one execution: 'roar run %s' "
					 "repeats it",
					 word, word);
	}
	return 0;
}

static int run(const struct args *args)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	struct rerun_work w = {
		.view = &v,
		.n_parallel = (unsigned)args_number(args, "jobs", 1),
		.json = args_has(args, "json"),
		.quiet = args_has(args, "quiet"),
		.no_restore = args_has(args, "no-restore"),
	};
	int r = check_operands(args);

	if (r == 0)
		r = view_open(&v, STORE_READONLY);
	if (r == 0)
		r = rerun(&w, args);
	pipeline_release(&w.pipeline);
	return r;
}

static const struct option_spec options[] = {
	{ .name = "dry-run",
	  .letter = 'n',
	  .help = "print the plan and run nothing" },
	{ .name = "jobs",
	  .letter = 'j',
	  .arg = "N",
	  .min = 1,
	  .max = 1024,
	  .help = "run up to N steps at a time" },
	{ .name = "downstream",
	  .help = "also the steps that depend on the given ones" },
	{ .name = "force",
	  .letter = 'f',
	  .help = "run the given steps (all without STEP) even if they are up "
		  "to date" },
	{ .name = "no-restore",
	  .help = "run steps whose outputs could be restored" },
	{ .name = "quiet", .letter = 'q', .help = "print failures only" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar rerun --dry-run", "what would run, and why" },
	{ "roar rerun -j 4",
	  "bring everything up to date, four steps at a time" },
	{ "roar rerun @3", "step 3 and what it needs" },
	{ "roar rerun --force --downstream @1",
	  "step 1 in any case, and all that depends on it" },
	{ 0 },
};

const struct command cmd_rerun = {
	.name = "rerun",
	.group = GROUP_START,
	.summary = "bring stale and outdated steps up to date",
	.synopsis = "[OPTION]... [@STEP]...",
	.about =
#include "rerun.txt.inc"
		,
	.options = options,
	.examples = examples,
	.exit_status =
		"0 when all steps are up to date; that of the first step that "
		"failed; 128 + N when signal N ended it; 1 when the steps could "
		"not be run; 2 for wrong usage.",
	.operand = OPERAND_TARGET,
	.max_operands = -1,
	.run = run,
};
