/* label.c - `roar label`: names and values for sessions, jobs and artifacts. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macros.h"
#include "commands.h"
#include "lineage/label.h"
#include "lineage/redact.h"
#include "project/config.h"
#include "query/target.h"
#include "ui/view.h"
#include "ui/view_labels.h"

struct entity {
	enum label_entity kind;
	int64_t id;
};

/* ---- which thing ---- */

static int find_dag(struct view *v, const char *word, struct entity *ret,
		    struct roar_error *err)
{
	struct target target;
	int r;

	if (!strcmp(word, "current") && !v->has_session)
		return error_set(
			err, -ENOENT,
			"there is no active session: 'roar run' starts one");
	if (!strcmp(word, "current")) {
		ret->id = v->session.id;
		return 0;
	}
	r = target_resolve(&v->query, v->project.cwd, word, TARGET_WANT_SESSION,
			   &target, err);
	if (r == 0)
		ret->id = target.session.id;
	return r;
}

static int find_job(struct view *v, const char *word, struct entity *ret,
		    struct roar_error *err)
{
	struct target target;
	int r = target_resolve(&v->query, v->project.cwd, word, TARGET_WANT_JOB,
			       &target, err);

	if (r == 0)
		ret->id = target.job.id;
	return r;
}

/* A hash, else a path; the message for hex digits is that of a hash. */
static int find_artifact(struct view *v, const char *word, struct entity *ret,
			 struct roar_error *err)
{
	struct roar_error other = { 0 };
	struct target target;
	int r = target_resolve(&v->query, v->project.cwd, word,
			       TARGET_WANT_ARTIFACT, &target, err);
	int e = r;

	if (r == -EINVAL || r == -ENOENT)
		e = target_resolve(&v->query, v->project.cwd, word,
				   TARGET_WANT_PATH, &target, &other);
	if (e == 0)
		ret->id = target.artifact.id;
	if (e == 0 || r == -ENOENT)
		return e == 0 ? 0 : r;
	if (r == -EINVAL)
		*err = other;
	return e;
}

static const struct {
	const char *name;
	enum label_entity kind;
	int (*find)(struct view *v, const char *word, struct entity *ret,
		    struct roar_error *err);
} entities[] = {
	{ "dag", LABEL_SESSION, find_dag },
	{ "job", LABEL_JOB, find_job },
	{ "artifact", LABEL_ARTIFACT, find_artifact },
};

/* The entity that two operands name. */
static int find_entity(struct view *v, char *const *words, struct entity *ret,
		       struct roar_error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(entities); i++) {
		if (strcmp(words[0], entities[i].name) != 0)
			continue;
		ret->kind = entities[i].kind;
		return entities[i].find(v, words[1], ret, err);
	}
	return error_set(err, -EINVAL,
			 "'%.60s' has no labels: use dag, job or artifact",
			 words[0]);
}

static int read_current(struct view *v, const struct entity *e,
			struct store_label *ret, struct roar_error *err)
{
	return store_label(v->store, &v->pool, e->kind, e->id, ret, err);
}

/* ---- changing ---- */

/* The operands after ENTITY and TARGET, without secrets in their values. */
static int redact_operands(struct view *v, const struct args *args, char ***ret,
			   struct roar_error *err)
{
	CLEANUP(redact_freep) struct redact *redact = NULL;
	int r = config_redact_load(v->project.dir, &redact);

	if (r == 0)
		r = redact_words(redact, args->operands + 3, &v->pool, ret);
	return r < 0 ? error_set(err, r, "out of memory") : 0;
}

static int change_set(struct view *v, const struct args *args,
		      const char *document, const char **ret,
		      struct roar_error *err)
{
	char **words = NULL;
	int r = redact_operands(v, args, &words, err);

	return r < 0 ? r :
		       label_set(&v->pool, document, words,
				 (size_t)args->n_operands - 3, ret, err);
}

static int change_unset(struct view *v, const struct args *args,
			const char *document, const char **ret,
			struct roar_error *err)
{
	return label_unset(&v->pool, document, args->operands + 3,
			   (size_t)args->n_operands - 3, ret, err);
}

static int change_cp(struct view *v, const struct args *args,
		     const char *document, const char **ret,
		     struct roar_error *err)
{
	struct store_label from = { 0 };
	struct entity source = { 0 };
	int r = find_entity(v, args->operands + 1, &source, err);

	if (r == 0)
		r = read_current(v, &source, &from, err);
	return r < 0 ? r :
		       label_merge(&v->pool, document, from.document, ret, err);
}

/* Reads and writes in one transaction, so that no change of another process is lost. */
static int apply(struct view *v, const struct args *args,
		 const struct entity *e,
		 int (*change)(struct view *v, const struct args *args,
			       const char *document, const char **ret,
			       struct roar_error *err),
		 const char *done, struct roar_error *err)
{
	struct store_label label = { 0 };
	const char *before;
	int64_t version;
	int r = read_current(v, e, &label, err);

	if (r < 0)
		return r;
	before = label.document;
	label = (struct store_label){ .entity_id = e->id };
	r = change(v, args, before, &label.document, err);
	if (r == 0)
		str_adds(&v->out, "Labels unchanged.\n");
	if (r <= 0)
		return r;
	r = store_label_add(v->store, e->kind, &label, &version, err);
	if (r < 0)
		return r;
	str_addf(&v->out, "%s labels (version %lld):\n", done,
		 (long long)version);
	view_label_lines(&v->out, label.document, 2);
	return 0;
}

static int run_set(struct view *v, const struct args *args,
		   const struct entity *e, struct roar_error *err)
{
	return apply(v, args, e, change_set, "Set", err);
}

static int run_unset(struct view *v, const struct args *args,
		     const struct entity *e, struct roar_error *err)
{
	return apply(v, args, e, change_unset, "Removed", err);
}

static int run_cp(struct view *v, const struct args *args,
		  const struct entity *e, struct roar_error *err)
{
	return apply(v, args, e, change_cp, "Copied", err);
}

/* ---- showing ---- */

static void json_version(struct json *j, const struct store_label *label)
{
	json_put_object(j);
	view_json_int(j, "version", label->version);
	view_json_time(j, "created_at", label->created_ns);
	view_json_text(j, "origin",
		       label->origin == LABEL_SYSTEM ? "system" : "user");
	json_put_key(j, "labels");
	json_put_raw(j, label->document, strlen(label->document));
	json_end(j);
}

static int run_show(struct view *v, const struct args *args,
		    const struct entity *e, struct roar_error *err)
{
	struct json j = json_writer(&v->out, true);
	struct store_label label = { 0 };
	int r = read_current(v, e, &label, err);

	if (r < 0)
		return r;
	if (args_has(args, "json")) {
		json_version(&j, &label);
		str_addc(&v->out, '\n');
		return 0;
	}
	view_label_lines(&v->out, label.document, 0);
	if (!v->out.len)
		str_adds(&v->out, "No labels.\n");
	return 0;
}

static void add_version(struct view *v, const struct store_label *label)
{
	str_addf(&v->out, "version %lld  ", (long long)label->version);
	clock_format(&v->out, label->created_ns);
	str_addf(&v->out, "  %s\n",
		 label->origin == LABEL_SYSTEM ? "system" : "user");
	view_label_lines(&v->out, label->document, 2);
}

static int run_history(struct view *v, const struct args *args,
		       const struct entity *e, struct roar_error *err)
{
	struct json j = json_writer(&v->out, true);
	bool json = args_has(args, "json");
	struct store_label *labels;
	size_t n;
	int r = store_label_history(v->store, &v->pool, e->kind, e->id, &labels,
				    &n, err);

	if (r < 0)
		return r;
	if (json)
		json_put_array(&j);
	for (size_t i = 0; i < n; i++) {
		if (json)
			json_version(&j, &labels[i]);
		else
			add_version(v, &labels[i]);
	}
	if (json) {
		json_end(&j);
		str_addc(&v->out, '\n');
	} else if (!n) {
		str_adds(&v->out, "No labels.\n");
	}
	return 0;
}

/* ---- the command ---- */

static const struct {
	const char *name;
	bool writes;
	int entity; /* its first operand */
	int (*run)(struct view *v, const struct args *args,
		   const struct entity *e, struct roar_error *err);
} actions[] = {
	{ "set", true, 1, run_set },
	{ "unset", true, 1, run_unset },
	{ "cp", true, 3, run_cp },
	{ "show", false, 1, run_show },
	{ "history", false, 1, run_history },
};

static int act(struct view *v, const struct args *args, size_t action,
	       struct roar_error *err)
{
	struct entity e = { 0 };
	int r = actions[action].writes ? store_begin(v->store, err) : 0;

	if (r == 0)
		r = find_entity(v, args->operands + actions[action].entity, &e,
				err);
	if (r == 0)
		r = actions[action].run(v, args, &e, err);
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

	if (!strcmp(args->operands[0], "sync"))
		return cli_fail("'roar label sync' needs a lineage server, "
				"which does not exist yet in this version: "
				"labels stay in the project's .roar directory");
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
	{ .name = "dry-run", .help = "sync: say what would be sent" },
	{ .name = "json", .help = "print JSON (show, history)" },
	{ 0 },
};

static const struct verb_spec verbs[] = {
	{ "set", "ENTITY TARGET KEY=VALUE...", "add labels or change them",
	  NULL },
	{ "unset", "ENTITY TARGET KEY...", "remove labels", NULL },
	{ "cp", "ENTITY TARGET ENTITY TARGET",
	  "add the labels of the first to those of the second", NULL },
	{ "show", "ENTITY TARGET", "print the labels", "json" },
	{ "history", "ENTITY TARGET", "print all versions, oldest first",
	  "json" },
	{ "sync", "[ENTITY] [TARGET]",
	  "send labels to a lineage server, which does not exist yet in this "
	  "version",
	  "dry-run json" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar label set dag current owner=alice team=ml",
	  "label the active session" },
	{ "roar label set job @2 phase=train lr=0.001", "label a job" },
	{ "roar label set artifact model.pt model.name=resnet50",
	  "label content" },
	{ "roar label cp job @2 artifact model.pt", NULL },
	{ "roar label history dag current", NULL },
	{ 0 },
};

const struct command cmd_label = {
	.name = "label",
	.group = GROUP_INSPECT,
	.summary = "label sessions, jobs and artifacts",
	.synopsis = "ACTION ENTITY TARGET [ARG]...",
	.about =
#include "label.txt.inc"
		,
	.options = options,
	.verbs = verbs,
	.examples = examples,
	.operand = OPERAND_TARGET,
	.min_operands = 1,
	.run = run,
};
