/* show.c - `roar show`: all that is known of a session, job, artifact or checkpoint. */
#include <errno.h>

#include "commands.h"
#include "show/select.h"
#include "show/show.h"
#include "show/show_checkpoint.h"
#include "show/show_code.h"
#include "show/show_collection.h"
#include "ui/view.h"

void show_more(struct view *v, uint64_t n, uint64_t shown)
{
	if (n > shown)
		str_addf(&v->out, "  ... and %llu more (--all)\n",
			 (unsigned long long)(n - shown));
}

/* ---- which thing ---- */

static int parse_request(const struct args *args, struct selection *ret)
{
	int n = select_read(args, ret);

	/* The operand of `show --session UID` is no second thing. */
	if (args_has(args, "session") && !args->n_operands)
		n++;
	if (args_has(args, "session"))
		ret->want = TARGET_WANT_SESSION;
	else if (ret->want == TARGET_ANY)
		ret->want = TARGET_ANY_OR_SESSION;
	if (n > 1)
		return cli_usage(
			args->command,
			"only one of REF, --path, --job, --artifact and --session "
			"can be given");
	return 0;
}

/* ---- checkpoints ---- */

/* The checkpoint that the name belongs to, if it is a name. */
static int find_checkpoint(struct view *v, const struct selection *q,
			   struct show_checkpoint *ret, struct roar_error *err)
{
	if (q->want == TARGET_ANY_OR_SESSION || q->want == TARGET_WANT_PATH)
		return show_checkpoint_find(v, q->word, ret, err);
	return 0;
}

/* ---- the command ---- */

static int answer(struct view *v, const struct selection *q,
		  const struct show_options *o, struct roar_error *err)
{
	CLEANUP(show_checkpoint_release)
	struct show_checkpoint checkpoint = { .manifest = CKPT_MANIFEST_INIT };
	struct target target;
	int r;

	if (!q->word && o->diff)
		return error_set(err, -EINVAL,
				 "--diff takes a job, such as @2");
	if (!q->word)
		return show_session(v, v->has_session ? &v->session : NULL, o,
				    err);
	r = o->diff ? 0 : find_checkpoint(v, q, &checkpoint, err);
	if (r < 0)
		return r;
	if (checkpoint.found && checkpoint.is_dir)
		return show_checkpoint(v, &checkpoint, o);
	r = target_resolve(&v->query, v->project.cwd, q->word, q->want, &target,
			   err);
	if (r == -ENOENT && checkpoint.found)
		return show_checkpoint(v, &checkpoint, o);
	if (r < 0)
		return r;
	if (o->diff && target.kind == TARGET_JOB)
		return show_code_diff(v, &target.job, err);
	if (o->diff)
		return error_set(err, -EINVAL,
				 "--diff takes a job, and '%.100s' is not one",
				 q->word);
	if (target.kind == TARGET_SESSION)
		return show_session(v, &target.session, o, err);
	if (target.kind == TARGET_JOB)
		return show_job(v, &target.job, o, err);
	if (target.collection.id)
		return show_collection(v, &target.collection, o, err);
	return show_artifact(v, &target.artifact, target.path, &checkpoint, o,
			     err);
}

static int run(const struct args *args)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	struct show_options o = {
		.all = args_has(args, "all"),
		.json = args_has(args, "json"),
		.diff = args_has(args, "diff"),
		.processes = args_has(args, "processes"),
	};
	struct roar_error err = { 0 };
	struct selection q;
	int r;

	r = parse_request(args, &q);
	if (r)
		return r;
	r = view_open(&v, STORE_READONLY);
	if (r)
		return r;
	r = answer(&v, &q, &o, &err);
	if (r == -EINVAL) /* the word, which no record could hold */
		return cli_usage(args->command, "%s", err.text);
	return r < 0 ? view_fail(r, &err) : view_print(&v);
}

static const struct option_spec options[] = {
	{ .name = "path",
	  .arg = "PATH",
	  .help = "show the file with this name" },
	{ .name = "job",
	  .arg = "REF",
	  .help = "show a job: @N, @BN or the start of its UID" },
	{ .name = "artifact",
	  .arg = "HASH",
	  .help = "show the artifact whose hash starts with HASH" },
	{ .name = "session",
	  .help = "show the active session, or the one with the UID or hash REF" },
	{ .name = "diff",
	  .help = "print the uncommitted changes that the job ran with" },
	{ .name = "all",
	  .letter = 'a',
	  .help = "show everything: long lists, filtered files, processes" },
	{ .name = "processes",
	  .help = "of a job, show which process read and wrote which file" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar show", "the active session and its steps" },
	{ "roar show @2", "step 2: command, verdict, inputs, outputs" },
	{ "roar show --processes @2",
	  "the processes of step 2 with the files of each" },
	{ "roar show model.pt", "which jobs wrote and used that content" },
	{ "roar show --artifact 9f86d081", "the same by hash" },
	{ "roar show runs/step-000000000100",
	  "a checkpoint: job, code, samples, parent" },
	{ 0 },
};

const struct command cmd_show = {
	.name = "show",
	.group = GROUP_INSPECT,
	.summary = "show a session, job, artifact or checkpoint",
	.synopsis = "[OPTION]... [REF]",
	.about =
#include "show.txt.inc"
		,
	.options = options,
	.examples = examples,
	.operand = OPERAND_TARGET,
	.max_operands = 1,
	.run = run,
};
