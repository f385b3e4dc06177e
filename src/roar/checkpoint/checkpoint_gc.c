/* checkpoint_gc.c - `roar checkpoint gc` */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/quote.h"
#include "base/str.h"
#include "checkpoint/checkpoint_place.h"
#include "checkpoint/checkpoint_verbs.h"
#include "ckpt/ckpt_gc.h"
#include "ckpt/ckpt_listing.h"
#include "cli/cli.h"
#include "ui/view.h"

struct removal {
	struct str out; /* lines, or items of the JSON list */
	struct json json;
	bool is_json;
	bool dry_run;
};

static void on_removed(void *ctx, const char *path, uint64_t size_bytes)
{
	struct removal *removal = ctx;
	struct str *out = &removal->out;

	if (removal->is_json) {
		json_put_string(&removal->json, path);
		return;
	}
	str_adds(out, removal->dry_run ? "would remove " : "removed ");
	quote_name(out, path, strlen(path));
	if (strchr(path, '/')) {
		str_adds(out, "  ");
		format_size(out, size_bytes);
	}
	str_addc(out, '\n');
}

static void add_summary(struct removal *removal, const struct ckpt_gc_result *g)
{
	struct str *out = &removal->out;

	format_count(out, g->n_kept, "checkpoint");
	str_adds(out, " kept, ");
	format_number(out, g->n_removed);
	str_adds(out, removal->dry_run ? " would be removed; " : " removed; ");
	format_count(out, g->n_files, "file");
	str_adds(out, ", ");
	format_size(out, g->bytes);
	str_addc(out, '\n');
	if (!g->n_postponed)
		return;
	format_count(out, g->n_postponed, "file");
	str_adds(out, " left, because a save goes on: repeat this later\n");
}

static void add_json(struct json *j, const struct ckpt_gc_result *g)
{
	json_end(j);
	view_json_int(j, "kept", (int64_t)g->n_kept);
	view_json_int(j, "removed", (int64_t)g->n_removed);
	view_json_int(j, "files", (int64_t)g->n_files);
	view_json_int(j, "bytes", (int64_t)g->bytes);
	view_json_int(j, "postponed", (int64_t)g->n_postponed);
	json_end(j);
	str_addc(j->out, '\n');
}

/* "loss" or "accuracy:max".  `name` receives the metric's name. */
static int parse_best(const struct args *args, struct ckpt_rules *rules,
		      struct str *name)
{
	const char *text = args_get(args, "keep-best");
	const char *colon = text ? strrchr(text, ':') : NULL;
	size_t len = text ? strlen(text) : 0;

	if (!text)
		return 0;
	rules->best = CKPT_BEST_LOWEST;
	if (colon && (!strcmp(colon, ":max") || !strcmp(colon, ":min"))) {
		len = (size_t)(colon - text);
		if (!strcmp(colon, ":max"))
			rules->best = CKPT_BEST_HIGHEST;
	}
	if (!len)
		return cli_usage(args->command,
				 "--keep-best takes the name of a metric, such "
				 "as loss or accuracy:max");
	str_add(name, text, len);
	rules->metric = str_cstr(name);
	return 0;
}

/* A metric that no checkpoint has would keep none: its name is misspelt. */
static int check_best(const struct checkpoint_place *p,
		      const struct ckpt_rules *rules)
{
	CLEANUP(ckpt_listing_release)
	struct ckpt_listing l = CKPT_LISTING_INIT;
	struct roar_error err = { 0 };
	size_t n = 0;
	int r;

	if (!rules->metric)
		return 0;
	r = ckpt_listing_read(&l, p->store, CKPT_LIST_MANIFESTS, &err);
	if (r < 0)
		return checkpoint_fail(r, &err);
	for (size_t i = 0; i < l.n_entries; i++) {
		/* gc itself says what is wrong with this one. */
		if (l.entries[i].problem)
			return 0;
		n += l.entries[i].is_committed;
		if (!isnan(ckpt_entry_metric(&l.entries[i], rules->metric)))
			return 0;
	}
	if (!n)
		return 0;
	return cli_fail("no checkpoint in '%s' has a number for the metric "
			"'%.100s': nothing was removed",
			blob_url(p->store), rules->metric);
}

int checkpoint_gc(const struct args *args)
{
	CLEANUP(checkpoint_place_release)
	struct checkpoint_place p = CHECKPOINT_PLACE_INIT;
	CLEANUP(str_release) struct str metric = STR_INIT;
	struct removal removal = { .is_json = args_has(args, "json"),
				   .dry_run = args_has(args, "dry-run") };
	struct ckpt_gc_options options = {
		.rules = { .last = (uint64_t)args_number(args, "keep-last", 0),
			   .every = (uint64_t)args_number(args, "keep-every",
							  0) },
		.dry_run = removal.dry_run,
		.removed = on_removed,
		.ctx = &removal,
	};
	struct ckpt_gc_result result = { 0 };
	struct roar_error err = { 0 };
	int status = parse_best(args, &options.rules, &metric);
	int r;

	if (!status)
		status = checkpoint_place_base(&p, args, args->operands[1],
					       false);
	if (!status)
		status = check_best(&p, &options.rules);
	if (status)
		return status;
	removal.json = json_writer(&removal.out, true);
	if (removal.is_json) {
		json_put_object(&removal.json);
		json_put_key(&removal.json, "paths");
		json_put_array(&removal.json);
	}
	r = ckpt_gc_run(p.store, &options, &result, &err);
	if (removal.is_json)
		add_json(&removal.json, &result);
	else if (r == 0)
		add_summary(&removal, &result);
	status = cli_print(&removal.out);
	str_release(&removal.out);
	return r < 0 ? checkpoint_fail(r, &err) : status;
}
