/* tag.c - `roar tag`: the tags of a job after its run. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/quote.h"
#include "commands.h"
#include "lineage/redact.h"
#include "project/config.h"
#include "query/producer.h"
#include "query/target.h"
#include "run/options.h"
#include "show/show.h"
#include "show/show_tags.h"
#include "store/store_tag.h"
#include "ui/view.h"

/* ---- which job ---- */

/* The job that an operand names, or that made the content it names. */
static int find_job(struct view *v, const char *word,
		    const struct store_job **ret, struct roar_error *err)
{
	struct target target;
	int r = target_resolve(&v->query, v->project.cwd, word, TARGET_ANY,
			       &target, err);

	if (r < 0)
		return r;
	if (target.kind == TARGET_JOB)
		return query_job(&v->query, target.job.id, ret, err);
	r = producer_find_newest(&v->query, target.artifact.id, target.path,
				 ret, err);
	if (r == 0 && !*ret)
		return error_set(err, -ENOENT,
				 "no recorded job wrote '%.100s', and tags "
				 "belong to jobs: tag a job that reads it",
				 word);
	return r;
}

static void add_job_name(struct view *v, const struct store_job *job)
{
	view_step_full(v, &v->out, job);
	str_addf(&v->out, " %s", job->uid);
}

/* ---- changing ---- */

static void warn_unknown(const struct tag *tag)
{
	struct tag copy = *tag;
	struct run_tags one = { .list = &copy, .n = 1 };

	run_tags_warn(&one);
}

/* As roar run does with the values of --add-tag. */
static int redact_value(struct view *v, struct tag *tag, struct roar_error *err)
{
	CLEANUP(redact_freep) struct redact *redact = NULL;
	CLEANUP(str_release) struct str clean = STR_INIT;
	int r = config_redact_load(v->project.dir, &redact);

	if (r == 0) {
		redact_text(redact, tag->value, strlen(tag->value), &clean);
		r = str_error(&clean);
	}
	if (r == 0)
		tag->value = pool_dup(&v->pool, str_cstr(&clean), clean.len);
	return r < 0 || !tag->value ? error_set(err, -ENOMEM, "out of memory") :
				      0;
}

static int run_add(struct view *v, const struct args *args,
		   const struct store_job *job, struct roar_error *err)
{
	struct tag tag;
	int r = tag_parse(&v->pool, TAG_ADD, args->operands[1], &tag, err);

	if (r == 0)
		r = redact_value(v, &tag, err);
	if (r == 0)
		r = store_tag_add(v->store, job->id, &tag, err);
	if (r < 0)
		return r;
	warn_unknown(&tag);
	if (!r) {
		str_adds(&v->out, "Tags unchanged.\n");
		return 0;
	}
	str_addf(&v->out, "Tagged the outputs of ");
	add_job_name(v, job);
	str_addf(&v->out, " with %s=", tag.kind);
	quote_printable(&v->out, tag.value, strlen(tag.value));
	str_addc(&v->out, '\n');
	return 0;
}

static int run_rm(struct view *v, const struct args *args,
		  const struct store_job *job, struct roar_error *err)
{
	struct tag tag;
	struct tag_change change = { .removed = true };
	/* A block may be a kind without a value, and so may this. */
	int r = tag_parse(&v->pool, TAG_BLOCK, args->operands[1], &tag, err);

	if (r < 0)
		return r;
	tag.action = TAG_ADD;
	change.tag = (struct job_tag){ job->id, tag };
	r = store_tag_change(v->store, &change, err);
	if (r < 0)
		return r;
	if (!r)
		return error_set(err, -ENOENT,
				 "job %s has no tag '%.100s' of its own: 'roar "
				 "tag show %s' lists where its tags come from",
				 job->uid, args->operands[1], job->uid);
	str_adds(&v->out, "Removed ");
	format_count(&v->out, (uint64_t)r, "tag");
	str_adds(&v->out, " from the outputs of ");
	add_job_name(v, job);
	str_addc(&v->out, '\n');
	return 0;
}

/* ---- showing ---- */

static int show_json(struct view *v, const struct store_job *job,
		     const struct show_tags *tags, struct roar_error *err)
{
	struct json j = json_writer(&v->out, true);
	int r;

	json_put_object(&j);
	view_json_text(&j, "job_uid", job->uid);
	view_json_text(&j, "step_ref", view_step_ref(v, job));
	r = show_tags_json(v, tags, &j, err);
	show_tags_json_blocked(tags, &j);
	json_end(&j);
	str_addc(&v->out, '\n');
	return r;
}

static int run_show(struct view *v, const struct args *args,
		    const struct store_job *job, struct roar_error *err)
{
	struct show_options o = { .all = true };
	struct show_tags tags = { 0 };
	int r = show_tags_read(v, job, &tags, err);

	if (r < 0)
		return r;
	if (args_has(args, "json"))
		return show_json(v, job, &tags, err);
	str_adds(&v->out, "Outputs of ");
	add_job_name(v, job);
	str_addc(&v->out, '\n');
	if (!tags.n_carried && !tags.n_blocked)
		str_adds(&v->out, "  No tags.\n");
	return show_tags_text(v, &tags, job->id, &o, err);
}

static void add_change(struct view *v, const struct tag_change *change)
{
	const struct tag *tag = &change->tag.tag;

	clock_format(&v->out, change->created_ns);
	str_addf(&v->out, "  %s  ",
		 change->removed	  ? "removed" :
		 tag->action == TAG_BLOCK ? "blocked" :
					    "added  ");
	quote_printable(&v->out, tag->kind, strlen(tag->kind));
	if (tag->value[0]) {
		str_addc(&v->out, '=');
		quote_printable(&v->out, tag->value, strlen(tag->value));
	}
	str_addc(&v->out, '\n');
}

static void json_change(struct json *j, const struct tag_change *change)
{
	const struct tag *tag = &change->tag.tag;

	json_put_object(j);
	view_json_time(j, "created_at", change->created_ns);
	view_json_text(j, "change", change->removed ? "removed" : "added");
	view_json_text(j, "action", tag->action == TAG_BLOCK ? "block" : "add");
	view_json_text(j, "kind", tag->kind);
	view_json_text(j, "value", tag->value[0] ? tag->value : NULL);
	view_json_text(j, "origin", tag_origin_name(tag->origin));
	json_end(j);
}

static int run_history(struct view *v, const struct args *args,
		       const struct store_job *job, struct roar_error *err)
{
	struct json j = json_writer(&v->out, true);
	struct tag_change *changes;
	size_t n;
	int r = store_tag_history(v->store, &v->pool, job->id, &changes, &n,
				  err);

	if (r < 0)
		return r;
	if (args_has(args, "json")) {
		json_put_array(&j);
		for (size_t i = 0; i < n; i++)
			json_change(&j, &changes[i]);
		json_end(&j);
		str_addc(&v->out, '\n');
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		add_change(v, &changes[i]);
	if (!n)
		str_adds(&v->out, "No tags.\n");
	return 0;
}

/* ---- the command ---- */

static const struct {
	const char *name;
	bool writes;
	int target; /* its operand */
	int (*run)(struct view *v, const struct args *args,
		   const struct store_job *job, struct roar_error *err);
} actions[] = {
	{ "add", true, 2, run_add },
	{ "rm", true, 2, run_rm },
	{ "show", false, 1, run_show },
	{ "history", false, 1, run_history },
};

static int act(struct view *v, const struct args *args, size_t action,
	       struct roar_error *err)
{
	const struct store_job *job;
	int r = actions[action].writes ? store_begin(v->store, err) : 0;

	if (r == 0)
		r = find_job(v, args->operands[actions[action].target], &job,
			     err);
	if (r == 0)
		r = actions[action].run(v, args, job, err);
	if (r >= 0 && actions[action].writes)
		r = store_commit(v->store, err);
	return r;
}

static int run(const struct args *args)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	struct roar_error err = { 0 };
	size_t action = 0;
	int r;

	while (strcmp(actions[action].name, args->operands[0]) != 0)
		action++;
	r = view_open(&v, actions[action].writes ? 0 : STORE_READONLY);
	if (r)
		return r;
	r = act(&v, args, action, &err);
	if (r == -EINVAL)
		return cli_usage(args->command, "%s", err.text);
	return r < 0 ? view_fail(r, &err) : view_print(&v);
}

static const struct option_spec options[] = {
	{ .name = "json", .help = "print JSON (show, history)" },
	{ 0 },
};

static const struct verb_spec verbs[] = {
	{ "add", "KIND=VALUE TARGET", "tag what a job wrote", NULL },
	{ "rm", "KIND[=VALUE] TARGET", "remove a tag, or all of a kind", NULL },
	{ "show", "TARGET", "print the tags that the outputs carry", "json" },
	{ "history", "TARGET", "print every addition and removal", "json" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar tag add license=MIT @1", "what step 1 wrote is under MIT" },
	{ "roar tag show model.pt", "its tags, and where they come from" },
	{ "roar tag rm license @1", "remove all values of the kind" },
	{ 0 },
};

const struct command cmd_tag = {
	.name = "tag",
	.group = GROUP_INSPECT,
	.summary = "change and show the tags of what jobs wrote",
	.synopsis = "ACTION [KIND=VALUE] TARGET",
	.about =
#include "tag.txt.inc"
		,
	.options = options,
	.verbs = verbs,
	.examples = examples,
	.operand = OPERAND_TARGET,
	.min_operands = 1,
	.run = run,
};
