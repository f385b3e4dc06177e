/* collection.c - `roar collection`: directories and sets of files as one artifact. */
#include <string.h>

#include "base/macros.h"
#include "base/quote.h"
#include "collection/collection_create.h"
#include "commands.h"
#include "query/collection.h"
#include "query/target.h"
#include "show/show.h"
#include "show/show_collection.h"
#include "ui/table.h"
#include "ui/view.h"

/* ---- ls ---- */

static void add_row(struct view *v, struct table *t,
		    const struct store_collection *c)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	char hex[2 * BLAKE3_LEN + 1];

	digest_hex(hex, c->blake3, BLAKE3_LEN);
	hex[VIEW_HASH_DIGITS] = '\0';
	table_text(t, hex);
	table_text(t, collection_kind_name(c->kind));
	table_number(t, (uint64_t)c->n_members);
	table_size(t, (uint64_t)c->size);
	table_text(t, c->names[0] ? c->names : "-");
	view_path(v, &text, c->path);
	table_text(t, str_cstr(&text));
	table_row(t);
}

static void json_list(struct view *v, const struct store_collection *all,
		      size_t n)
{
	struct json j = json_writer(&v->out, true);

	json_put_object(&j);
	json_put_key(&j, "collections");
	json_put_array(&j);
	for (size_t i = 0; i < n; i++) {
		json_put_object(&j);
		show_collection_fields(&j, &all[i]);
		view_json_text(&j, "path", all[i].path);
		view_json_time(&j, "first_seen_at", all[i].first_seen_ns);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	str_addc(&v->out, '\n');
}

static int list(struct view *v, const struct args *args, struct roar_error *err)
{
	static const char *const heads[] = { "HASH", "KIND", "FILES", "SIZE",
					     "NAME", "PATH", NULL };
	struct store_collection *all;
	struct table t = TABLE_INIT;
	size_t n;
	int r = store_collections(v->store, &v->pool, &all, &n, err);

	if (r < 0)
		return r;
	if (args_has(args, "json")) {
		json_list(v, all, n);
		return 0;
	}
	if (!n) {
		str_adds(&v->out,
			 "No collections: 'roar collection create NAME "
			 "PATH' makes one, and so does a run that "
			 "reads or writes a whole directory.\n");
		return 0;
	}
	table_head(&t, heads);
	for (size_t i = 0; i < n; i++)
		add_row(v, &t, &all[i]);
	table_print(&t, &v->out, &v->term, 0);
	table_release(&t);
	return 0;
}

/* ---- show ---- */

static int show(struct view *v, const struct args *args, struct roar_error *err)
{
	struct show_options o = {
		.all = args_has(args, "all"),
		.json = args_has(args, "json"),
	};
	struct target t;
	int r = target_collection(&v->query, v->project.cwd, args->operands[1],
				  &t, err);

	return r < 0 ? r : show_collection(v, &t.collection, &o, err);
}

/* ---- diff ---- */

struct diff {
	struct view *view;
	struct json json;
	bool is_json;
	uint64_t limit, shown;
};

static int add_change(void *ctx, enum member_change change,
		      const struct store_member *before,
		      const struct store_member *after)
{
	static const char *const words[] = { "added", "removed", "changed" };
	const char *name = before ? before->name : after->name;
	struct diff *d = ctx;
	struct str *out = &d->view->out;

	if (d->is_json) {
		json_put_object(&d->json);
		view_json_text(&d->json, "name", name);
		view_json_text(&d->json, "change", words[change]);
		json_end(&d->json);
		return 0;
	}
	if (d->shown == d->limit)
		return 0;
	d->shown++;
	str_addf(out, "  %-9s", words[change]);
	quote_name(out, name, strlen(name));
	if (change == MEMBER_CHANGED) {
		str_adds(out, "  ");
		format_size(out, (uint64_t)before->size);
		str_adds(out, " -> ");
		format_size(out, (uint64_t)after->size);
	}
	str_addc(out, '\n');
	return 0;
}

static void end_diff(struct diff *d, const struct member_diff *n)
{
	struct str *out = &d->view->out;

	if (d->is_json) {
		json_end(&d->json);
		view_json_int(&d->json, "added", (int64_t)n->n_added);
		view_json_int(&d->json, "removed", (int64_t)n->n_removed);
		view_json_int(&d->json, "changed", (int64_t)n->n_changed);
		view_json_int(&d->json, "same", (int64_t)n->n_same);
		json_end(&d->json);
		str_addc(out, '\n');
		return;
	}
	show_more(d->view, n->n_added + n->n_removed + n->n_changed, d->shown);
	str_addf(out, "%llu added, %llu removed, %llu changed, %llu the same\n",
		 (unsigned long long)n->n_added,
		 (unsigned long long)n->n_removed,
		 (unsigned long long)n->n_changed,
		 (unsigned long long)n->n_same);
}

/* 1 when they differ. */
static int diff(struct view *v, const struct args *args, struct roar_error *err)
{
	struct diff d = {
		.view = v,
		.json = json_writer(&v->out, true),
		.is_json = args_has(args, "json"),
		.limit = args_has(args, "all") ? UINT64_MAX : SHOW_ROWS,
	};
	struct member_diff counts;
	struct target targets[2];
	int r = 0;

	for (int i = 0; r >= 0 && i < 2; i++)
		r = target_collection(&v->query, v->project.cwd,
				      args->operands[i + 1], &targets[i], err);
	if (r < 0)
		return r;
	if (d.is_json) {
		json_put_object(&d.json);
		json_put_key(&d.json, "members");
		json_put_array(&d.json);
	}
	r = collection_diff(&v->query, targets[0].collection.id,
			    targets[1].collection.id, add_change, &d, &counts,
			    err);
	if (r < 0)
		return r;
	end_diff(&d, &counts);
	return counts.n_added || counts.n_removed || counts.n_changed;
}

/* ---- the command ---- */

static const struct {
	const char *name;
	int n_operands; /* with the verb */
	int (*run)(struct view *v, const struct args *args,
		   struct roar_error *err);
} table[] = {
	{ "ls", 1, list },
	{ "show", 2, show },
	{ "diff", 3, diff },
};

static int answer(const struct args *args, size_t verb)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	struct roar_error err = { 0 };
	int r = view_open(&v, STORE_READONLY);
	int status;

	if (r)
		return r;
	r = table[verb].run(&v, args, &err);
	if (r < 0)
		return view_fail(r, &err);
	status = view_print(&v);
	return status ? status : r;
}

static int run(const struct args *args)
{
	const char *verb = args->n_operands ? args->operands[0] : "";

	if (!strcmp(verb, "create"))
		return collection_create(args);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (!strcmp(verb, table[i].name))
			return answer(args, i);
	return cli_usage(args->command, "say what to do, such as 'ls'");
}

static const struct option_spec options[] = {
	{ .name = "all",
	  .letter = 'a',
	  .help = "list all members, however many" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct verb_spec verbs[] = {
	{ "create", "NAME PATH...",
	  "give a directory, or several files and directories, a name", "json" },
	{ "ls", "", "list the collections on record", "json" },
	{ "show", "REF", "show one collection with its members", "all json" },
	{ "diff", "REF REF", "list the members that differ", "all json" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar collection create imagenet-v2 data/train", NULL },
	{ "roar collection show imagenet-v2", NULL },
	{ "roar collection diff imagenet-v1 imagenet-v2",
	  "which files were added, removed or changed" },
	{ 0 },
};

const struct command cmd_collection = {
	.name = "collection",
	.group = GROUP_INSPECT,
	.summary = "name, list and compare directories and sets of files",
	.synopsis = "VERB [OPTION]... [ARG]...",
	.about =
#include "collection.txt.inc"
		,
	.options = options,
	.verbs = verbs,
	.examples = examples,
	.exit_status =
		"0 on success; 1 when collections differ (diff), when REF is "
		"not a collection or something cannot be read; 2 on wrong "
		"usage.",
	.operand = OPERAND_FILE,
	.max_operands = 0,
	.run = run,
};
