/* db.c - `roar db`: how the record itself is doing. */
#include "base/clock.h"
#include "commands.h"
#include "project/tidy_trees.h"
#include "ui/view.h"

struct hygiene {
	bool checked; /* --check was asked for and passed */
	bool compacted;
	int64_t freed_bytes; /* by --compact */
};

static void add_count(struct view *v, const char *label, int64_t n)
{
	view_label(v, label);
	str_addf(&v->out, "%lld\n", (long long)n);
}

static void add_age(struct view *v, const struct store_stats *st)
{
	term_add(&v->out, &v->term, COLOR_BOLD, "Age\n");
	if (!st->n_jobs) {
		str_adds(&v->out, "  no jobs yet\n");
		return;
	}
	view_label(v, "Oldest job:");
	clock_format(&v->out, st->oldest_ns);
	str_adds(&v->out, "\n");
	view_label(v, "Newest job:");
	clock_format(&v->out, st->newest_ns);
	str_adds(&v->out, "\n");
}

static void add_hygiene(struct view *v, const struct store_stats *st,
			const struct hygiene *h)
{
	term_add(&v->out, &v->term, COLOR_BOLD, "Hygiene\n");
	view_label(v, "Integrity:");
	str_adds(&v->out,
		 h->checked ?
			 "sound\n" :
			 "not checked (--check reads the whole database)\n");
	view_label(v, "Unused:");
	format_count(&v->out, (uint64_t)st->n_unreferenced, "artifact");
	if (st->n_unreferenced)
		str_adds(&v->out,
			 " that no job refers to (--compact removes them)");
	str_adds(&v->out, "\n");
	if (h->compacted) {
		view_label(v, "Compacted:");
		format_size(&v->out, (uint64_t)h->freed_bytes);
		str_adds(&v->out, " freed\n");
	}
}

static void add_text(struct view *v, const struct store_stats *st,
		     const struct hygiene *h)
{
	term_add(&v->out, &v->term, COLOR_BOLD, "Database\n");
	view_label(v, "File:");
	view_path(v, &v->out, v->project.dir);
	str_adds(&v->out, "/roar.db\n");
	view_label(v, "Size:");
	format_size(&v->out, (uint64_t)st->size_bytes);
	str_addf(&v->out, "\n");
	add_count(v, "Schema:", st->schema_version);

	term_add(&v->out, &v->term, COLOR_BOLD, "Contents\n");
	add_count(v, "Sessions:", st->n_sessions);
	add_count(v, "Jobs:", st->n_jobs);
	add_count(v, "Processes:", st->n_processes);
	view_label(v, "Artifacts:");
	str_addf(&v->out, "%lld (", (long long)st->n_artifacts);
	format_size(&v->out, (uint64_t)st->artifact_bytes);
	str_adds(&v->out, " of distinct content)\n");
	add_count(v, "Paths:", st->n_paths);
	add_count(v, "File uses:", st->n_files);
	add_hygiene(v, st, h);
	add_age(v, st);
}

static void add_json(struct view *v, const struct store_stats *st,
		     const struct hygiene *h)
{
	struct json j = json_writer(&v->out, true);
	struct str path = STR_INIT;

	str_addf(&path, "%s/roar.db", v->project.dir);
	json_put_object(&j);
	view_json_text(&j, "path", str_cstr(&path));
	view_json_int(&j, "size_bytes", st->size_bytes);
	view_json_int(&j, "schema_version", st->schema_version);
	view_json_int(&j, "sessions", st->n_sessions);
	view_json_int(&j, "jobs", st->n_jobs);
	view_json_int(&j, "processes", st->n_processes);
	view_json_int(&j, "artifacts", st->n_artifacts);
	view_json_int(&j, "artifact_bytes", st->artifact_bytes);
	view_json_int(&j, "paths", st->n_paths);
	view_json_int(&j, "file_uses", st->n_files);
	view_json_int(&j, "unreferenced_artifacts", st->n_unreferenced);
	view_json_time(&j, "oldest_job_at", st->oldest_ns);
	view_json_time(&j, "newest_job_at", st->newest_ns);
	view_json_text(&j, "integrity", h->checked ? "sound" : NULL);
	json_put_key(&j, "freed_bytes");
	if (h->compacted)
		json_put_int(&j, h->freed_bytes);
	else
		json_put_null(&j);
	json_end(&j);
	str_addc(&v->out, '\n');
	str_release(&path);
}

static int tidy(struct view *v, const struct args *args, struct hygiene *ret,
		struct roar_error *err)
{
	struct store_stats before;
	struct store_stats after;
	uint64_t of_trees = 0;
	int r;

	if (args_has(args, "check")) {
		r = store_check(v->store, err);
		if (r < 0)
			return r;
		ret->checked = true;
	}
	if (!args_has(args, "compact"))
		return 0;
	r = store_stats(v->store, &before, err);
	if (r >= 0)
		r = store_compact(v->store, err);
	if (r >= 0)
		r = tidy_trees(v, &of_trees, err);
	if (r >= 0)
		r = store_stats(v->store, &after, err);
	if (r < 0)
		return r;
	ret->compacted = true;
	ret->freed_bytes = (int64_t)of_trees;
	if (before.size_bytes > after.size_bytes)
		ret->freed_bytes += before.size_bytes - after.size_bytes;
	return 0;
}

static int run(const struct args *args)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	struct roar_error err = { 0 };
	struct hygiene hygiene = { 0 };
	struct store_stats stats;
	int r;

	r = view_open(&v, args_has(args, "compact") ? 0 : STORE_READONLY);
	if (r)
		return r;
	r = tidy(&v, args, &hygiene, &err);
	if (r >= 0)
		r = store_stats(v.store, &stats, &err);
	if (r < 0)
		return view_fail(r, &err);
	if (args_has(args, "json"))
		add_json(&v, &stats, &hygiene);
	else
		add_text(&v, &stats, &hygiene);
	return view_print(&v);
}

static const struct option_spec options[] = {
	{ .name = "check",
	  .help = "read the whole database and verify that it is sound" },
	{ .name = "compact",
	  .help = "remove unreferenced data and free its space" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar db", "size, contents and age" },
	{ "roar db --check --compact", "verify, then free unused space" },
	{ 0 },
};

const struct command cmd_db = {
	.name = "db",
	.group = GROUP_SETUP,
	.summary = "show and maintain the lineage database",
	.synopsis = "[OPTION]...",
	.about =
#include "db.txt.inc"
		,
	.options = options,
	.examples = examples,
	.run = run,
};
