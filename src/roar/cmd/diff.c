/* diff.c - `roar diff`: what differs between two jobs, sessions or contents. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "commands.h"
#include "diff/diff.h"
#include "hash/user_cache.h"
#include "query/target.h"
#include "ui/view.h"

enum { EXIT_DIFFERENT = 1, EXIT_TROUBLE = 2, READ_MAX = 256 << 20 };

/* What an argument means. */
struct side {
	const char *word;
	struct target target;
	struct store_collection collection; /* id 0: it is none */
	bool is_file; /* on disk; the record does not know it */
};

static int resolve_session(struct view *v, const char *name, struct target *ret,
			   struct roar_error *err)
{
	if (strcmp(name, "current") != 0)
		return target_resolve(&v->query, v->project.cwd, name,
				      TARGET_WANT_SESSION, ret, err);
	if (!v->has_session)
		return error_set(err, -ENOENT,
				 "there is no active session: 'roar run' "
				 "starts one");
	*ret = (struct target){ .kind = TARGET_SESSION, .session = v->session };
	return 0;
}

/* A directory, or the name of a collection. */
static int find_collection(struct view *v, struct side *s,
			   struct roar_error *err)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	int r = store_collection_named(v->store, &v->pool, s->word,
				       &s->collection, err);

	if (r != 0)
		return r;
	path_normalize(&path, v->project.cwd, s->word);
	if (str_error(&path) < 0)
		return -ENOMEM;
	return store_collection_at(v->store, &v->pool, str_cstr(&path),
				   &s->collection, err);
}

static bool is_regular(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int resolve(struct view *v, struct side *s, struct roar_error *err)
{
	static const char session[] = "session:";
	int r;

	if (strncmp(s->word, session, strlen(session)) == 0)
		return resolve_session(v, s->word + strlen(session), &s->target,
				       err);
	r = find_collection(v, s, err);
	if (r != 0)
		return r < 0 ? r : 0;
	r = target_resolve(&v->query, v->project.cwd, s->word,
			   TARGET_ANY_OR_SESSION, &s->target, err);
	s->is_file = r == -ENOENT && is_regular(s->word);
	if (r < 0 || s->target.kind != TARGET_ARTIFACT)
		return s->is_file ? 0 : r;
	r = store_collection(v->store, &v->pool, s->target.artifact.id,
			     &s->collection, err);
	return r < 0 ? r : 0;
}

static const char *kind_word(const struct side *s)
{
	static const char *const words[] = {
		[TARGET_JOB] = "a job",
		[TARGET_ARTIFACT] = "a file",
		[TARGET_SESSION] = "a session",
	};

	return s->collection.id ? "a collection of files" :
	       s->is_file	? "a file" :
				  words[s->target.kind];
}

static int diff_sides(struct diff *d, const struct side *a,
		      const struct side *b, struct roar_error *err)
{
	if (strcmp(kind_word(a), kind_word(b)) != 0)
		return error_set(err, -EINVAL,
				 "'%.60s' is %s and '%.60s' is %s: give two of "
				 "the same kind",
				 a->word, kind_word(a), b->word, kind_word(b));
	if (a->collection.id)
		return diff_collections(d, &a->collection, &b->collection, err);
	if (a->is_file || b->is_file)
		return diff_paths(d, a->word, b->word, err);
	switch (a->target.kind) {
	case TARGET_JOB:
		return diff_jobs(d, &a->target.job, &b->target.job, err);
	case TARGET_SESSION:
		return diff_sessions(d, &a->target.session, &b->target.session,
				     err);
	default:
		return diff_artifacts(d, &a->target, &b->target, err);
	}
}

static int read_tolerance(const struct args *args, const char *name,
			  double *ret)
{
	const char *text = args_get(args, name);
	char *end;

	if (!text)
		return 0;
	*ret = strtod(text, &end);
	if (end != text && *end == '\0' && isfinite(*ret) && *ret >= 0)
		return 0;
	return cli_usage(args->command,
			 "--%s needs a number from 0 on, such as 1e-5", name);
}

/* Prints the reason, and returns the exit status of trouble. */
static int fail(const struct args *args, int r, const struct roar_error *err)
{
	if (r == -EINVAL)
		return cli_usage(args->command, "%s", err->text);
	(void)view_fail(r, err);
	return EXIT_TROUBLE;
}

static int run(const struct args *args)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	struct diff d = {
		.view = &v,
		.compare.python = "python3",
		.look = { .budget = READ_MAX, .open_cache = user_cache_open },
		.all = args_has(args, "all"),
		.json = args_has(args, "json"),
		.no_content = args_has(args, "no-content"),
	};
	struct side a = { .word = args->operands[0] };
	struct side b = { .word = args->operands[1] };
	struct roar_error err = { 0 };
	int r = read_tolerance(args, "rtol", &d.compare.rtol);

	if (r == 0)
		r = read_tolerance(args, "atol", &d.compare.atol);
	if (r)
		return r;
	if (view_open(&v, STORE_READONLY) != 0)
		return EXIT_TROUBLE;
	r = resolve(&v, &a, &err);
	if (r == 0)
		r = resolve(&v, &b, &err);
	if (r == 0)
		r = diff_sides(&d, &a, &b, &err);
	presence_look_release(&d.look);
	if (r < 0)
		return fail(args, r, &err);
	if (view_print(&v) != 0)
		return EXIT_TROUBLE;
	return d.differs ? EXIT_DIFFERENT : 0;
}

static const struct option_spec options[] = {
	{ .name = "all",
	  .letter = 'a',
	  .help = "complete lists, and differences that are expected each time" },
	{ .name = "rtol",
	  .arg = "R",
	  .help = "floating-point values may differ by R times the larger" },
	{ .name = "atol", .arg = "A", .help = "values may differ by A" },
	{ .name = "no-content",
	  .help = "compare files by hash only, do not read them" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar diff @2.1 @2.2", "two executions of step 2" },
	{ "roar diff --rtol 1e-4 old.safetensors new.safetensors",
	  "two models, by their tensors" },
	{ "roar diff session:1f0c session:current",
	  "the steps of an earlier session and of this one" },
	{ 0 },
};

const struct command cmd_diff = {
	.name = "diff",
	.group = GROUP_INSPECT,
	.summary = "tell what differs between jobs, sessions or files",
	.synopsis = "[OPTION]... A B",
	.about =
#include "diff.txt.inc"
		,
	.options = options,
	.examples = examples,
	.exit_status = "0 if A and B are the same, 1 if they differ, 2 if they "
		       "could not be compared.",
	.operand = OPERAND_TARGET,
	.min_operands = 2,
	.max_operands = 2,
	.run = run,
};
