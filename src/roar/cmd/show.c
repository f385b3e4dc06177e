/* show.c - `roar show`: all that is known of a session, job, artifact or checkpoint. */
#include <errno.h>
#include <string.h>

#include "base/quote.h"
#include "commands.h"
#include "show/select.h"
#include "show/show.h"
#include "show/show_checkpoint.h"
#include "ui/view.h"

enum { SESSION_PREFIX_MIN = 4 }; /* digits, where anything may be meant */

struct request {
	struct selection target; /* no word: the active session */
	bool session; /* --session, or no word at all */
};

void show_more(struct view *v, uint64_t n, uint64_t shown)
{
	if (n > shown)
		str_addf(&v->out, "  ... and %llu more (--all)\n",
			 (unsigned long long)(n - shown));
}

/* ---- which thing ---- */

static int parse_request(const struct args *args, struct request *ret)
{
	int n = select_read(args, &ret->target);

	ret->session = args_has(args, "session") || !ret->target.word;
	/* The operand of `show --session UID` is no second thing. */
	if (args_has(args, "session") && !args->n_operands)
		n++;
	if (n > 1)
		return cli_usage(
			args->command,
			"only one of REF, --path, --job, --artifact and --session "
			"can be given");
	return 0;
}

/* ---- sessions ---- */

static int find_session(struct view *v, const char *word,
			struct store_session *ret, struct roar_error *err)
{
	struct store_session *sessions;
	struct str shown = STR_INIT;
	size_t len = strlen(word);
	size_t found = 0;
	size_t n;
	int r;

	r = store_sessions(v->store, &v->pool, &sessions, &n, err);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		if (strncasecmp(sessions[i].uid, word, len) != 0)
			continue;
		*ret = sessions[i];
		found++;
	}
	if (r >= 0 && (found != 1 || !len)) {
		quote_printable_cut(&shown, word, 60);
		r = error_set(
			err, -ENOENT,
			found ? "'%s' is the start of several sessions: give more digits" :
				"session '%s' does not exist: 'roar log --all-sessions' "
				"lists the sessions",
			str_cstr(&shown));
		str_release(&shown);
	}
	return r < 0 ? r : 0;
}

static int answer_session(struct view *v, const struct request *q,
			  const struct show_options *o, struct roar_error *err)
{
	struct store_session session = v->session;
	int r;

	if (q->target.word) {
		r = find_session(v, q->target.word, &session, err);
		if (r < 0)
			return r;
	}
	return show_session(
		v, q->target.word || v->has_session ? &session : NULL, o, err);
}

/* A job has half as many digits, and it, content and files come first. */
static bool may_be_session(const char *word)
{
	size_t len = strlen(word);

	return len >= SESSION_PREFIX_MIN &&
	       strspn(word, "0123456789abcdefABCDEF") == len;
}

/* ---- checkpoints ---- */

/* The checkpoint that the name belongs to, if it is a name. */
static int find_checkpoint(struct view *v, const struct request *q,
			   struct show_checkpoint *ret, struct roar_error *err)
{
	if (q->target.want == TARGET_ANY || q->target.want == TARGET_WANT_PATH)
		return show_checkpoint_find(v, q->target.word, ret, err);
	return 0;
}

/* ---- the command ---- */

static int answer(struct view *v, const struct request *q,
		  const struct show_options *o, struct roar_error *err)
{
	CLEANUP(show_checkpoint_release)
	struct show_checkpoint checkpoint = { .manifest = CKPT_MANIFEST_INIT };
	struct roar_error other = { 0 };
	struct target target;
	int r;

	if (q->session)
		return answer_session(v, q, o, err);
	r = find_checkpoint(v, q, &checkpoint, err);
	if (r < 0)
		return r;
	if (checkpoint.found && checkpoint.is_dir)
		return show_checkpoint(v, &checkpoint, o);
	r = target_resolve(&v->query, v->project.cwd, q->target.word,
			   q->target.want, &target, err);
	if (r == -ENOENT && q->target.want == TARGET_ANY &&
	    may_be_session(q->target.word) &&
	    answer_session(v, q, o, &other) >= 0)
		return 0;
	if (r == -ENOENT && checkpoint.found)
		return show_checkpoint(v, &checkpoint, o);
	if (r < 0)
		return r;
	if (target.kind == TARGET_JOB)
		return show_job(v, &target.job, o, err);
	return show_artifact(v, &target.artifact, target.path, &checkpoint, o,
			     err);
}

static int run(const struct args *args)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	struct show_options o = {
		.all = args_has(args, "all"),
		.json = args_has(args, "json"),
	};
	struct roar_error err = { 0 };
	struct request q;
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
	  .help = "show the active session, or the one with the UID REF" },
	{ .name = "all",
	  .letter = 'a',
	  .help = "show everything: long lists, filtered files, processes" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar show", "the active session and its steps" },
	{ "roar show @2", "step 2: command, verdict, inputs, outputs" },
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
