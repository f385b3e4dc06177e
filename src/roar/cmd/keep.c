/* keep.c - `roar keep`: content of the record into .roar/objects. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/quote.h"
#include "base/vec.h"
#include "commands.h"
#include "lineage/fold.h"
#include "project/kept_files.h"
#include "project/owner.h"
#include "query/target.h"
#include "ui/view.h"

/* What became of one content. */
struct result {
	const struct store_file *row;
	uint64_t size_bytes;
	enum keep_how how;
	int error; /* 0: it is kept */
};

struct keeper {
	struct view view;
	struct config config;
	struct kept_files files;
	unsigned role; /* of a job's files */
	struct result *results;
	size_t n, cap;
};

/* ---- keeping ---- */

/* Keeps one content, by the first of these files that still has it. */
static int keep_rows(struct keeper *k, const struct store_file *rows, size_t n)
{
	struct result *result = VEC_PUSH(k->results, k->n, k->cap);
	const uint8_t *blake3 = rows[0].digests.blake3;
	bool acted;
	int r = -ENOENT;

	if (!result)
		return -ENOMEM;
	*result = (struct result){ .row = rows };
	acted = owner_act(k->files.dirfd);
	for (size_t i = 0; i < n && r < 0; i++) {
		r = kept_files_add(&k->files, rows[i].path, blake3,
				   &result->size_bytes, &result->how);
		if (r == 0)
			result->row = &rows[i];
		else if (i == 0)
			result->error = r;
	}
	/* No file has it any more, but it may have been kept before. */
	if (r < 0 && keep_verify(k->files.dirfd, blake3) == 0 &&
	    keep_has(k->files.dirfd, blake3, &result->size_bytes))
		r = 0;
	owner_act_as_self(acted);
	if (r == 0)
		result->error = 0;
	return 0;
}

static bool is_content(const struct store_file *row)
{
	return row->digests.have & DIGEST_SET_BLAKE3 &&
	       row->ftype == EVENT_FTYPE_REGULAR && !strstr(row->path, "://");
}

static int keep_job(struct keeper *k, const struct store_job *job,
		    struct roar_error *err)
{
	struct store_file *rows;
	size_t n;
	int r = store_files(k->view.store, &k->view.pool, job->id, false, &rows,
			    &n, err);

	for (size_t i = 0; r >= 0 && i < n; i++)
		if (rows[i].role == k->role && is_content(&rows[i]))
			r = keep_rows(k, &rows[i], 1);
	return r;
}

static int keep_artifact(struct keeper *k, const struct target *t,
			 const char *word, struct roar_error *err)
{
	struct store_file *rows;
	size_t n_files = 0;
	size_t n;
	int r = store_artifact_uses(k->view.store, &k->view.pool,
				    t->artifact.id, &rows, &n, err);

	for (size_t i = 0; r >= 0 && i < n; i++) {
		rows[i].digests = t->artifact.digests;
		if (is_content(&rows[i]))
			rows[n_files++] = rows[i];
	}
	if (r < 0)
		return r;
	if (!n_files)
		return error_set(err, -EINVAL,
				 "'%.200s' is not the content of a file and "
				 "cannot be kept",
				 word);
	return keep_rows(k, rows, n_files);
}

static int keep_word(struct keeper *k, const char *word, struct roar_error *err)
{
	struct view *v = &k->view;
	struct target target;
	int r = target_resolve(&v->query, v->project.cwd, word, TARGET_ANY,
			       &target, err);

	if (r < 0)
		return r;
	return target.kind == TARGET_JOB ? keep_job(k, &target.job, err) :
					   keep_artifact(k, &target, word, err);
}

/* ---- output ---- */

static const char *const how_words[] = {
	[KEEP_PRESENT] = "present",
	[KEEP_REFLINK] = "reflink",
	[KEEP_LINK] = "hard link",
	[KEEP_COPY] = "copy",
};

static void json_list(struct keeper *k, struct json *j, const char *key,
		      bool failed)
{
	json_put_key(j, key);
	json_put_array(j);
	for (size_t i = 0; i < k->n; i++) {
		const struct result *result = &k->results[i];

		if ((result->error != 0) != failed)
			continue;
		json_put_object(j);
		view_json_text(j, "path", result->row->path);
		view_json_digests(j, "digests", &result->row->digests);
		if (failed) {
			view_json_text(j, "reason",
				       kept_files_reason(result->error));
		} else {
			view_json_int(j, "size_bytes",
				      (int64_t)result->size_bytes);
			view_json_text(j, "how", how_words[result->how]);
		}
		json_end(j);
	}
	json_end(j);
}

static void add_json(struct keeper *k)
{
	struct json j = json_writer(&k->view.out, true);

	json_put_object(&j);
	json_list(k, &j, "kept", false);
	json_list(k, &j, "failed", true);
	json_end(&j);
	str_addc(&k->view.out, '\n');
}

static void add_text(struct keeper *k)
{
	struct view *v = &k->view;

	for (size_t i = 0; i < k->n; i++) {
		const struct result *result = &k->results[i];

		str_adds(&v->out, result->error ? "failed  " : "kept    ");
		view_hash(&v->out, &result->row->digests);
		str_adds(&v->out, "  ");
		view_path(v, &v->out, result->row->path);
		str_addf(&v->out, "  (%s)\n",
			 result->error ? kept_files_reason(result->error) :
					 how_words[result->how]);
	}
	if (!k->n)
		str_adds(&v->out, "no files to keep\n");
}

/* ---- the command ---- */

static int keep_all(struct keeper *k, char *const *words,
		    struct roar_error *err)
{
	int r = 0;

	for (; *words && r >= 0; words++)
		r = keep_word(k, *words, err);
	if (r < 0 || !k->files.is_changed)
		return r;
	r = keep_sync(k->files.dirfd);
	if (r < 0)
		return error_set(err, r,
				 "the kept content may not be on the disk: %s",
				 strerror(-r));
	return 0;
}

static int answer(struct keeper *k, const struct args *args)
{
	struct roar_error err = { 0 };
	size_t n_failed = 0;
	int r = config_load(k->view.project.dir, &k->config);

	k->files = (struct kept_files){ .dirfd = k->view.project.dirfd,
					.config = &k->config };
	if (r == 0)
		r = keep_all(k, args->operands, &err);
	if (r == -EINVAL)
		return cli_usage(args->command, "%s", err.text);
	if (r < 0)
		return view_fail(r, &err);
	for (size_t i = 0; i < k->n; i++)
		n_failed += k->results[i].error != 0;
	if (args_has(args, "json"))
		add_json(k);
	else
		add_text(k);
	r = view_print(&k->view);
	return r ? r : n_failed > 0;
}

static int run(const struct args *args)
{
	struct keeper k = {
		.view = VIEW_INIT,
		.role = args_has(args, "inputs") ? LINEAGE_INPUT :
						   LINEAGE_OUTPUT,
	};
	int r = view_open(&k.view, STORE_READONLY);

	if (r == 0)
		r = answer(&k, args);
	free(k.results);
	config_release(&k.config);
	view_close(&k.view);
	return r;
}

static const struct option_spec options[] = {
	{ .name = "inputs",
	  .help = "of a job, keep the inputs instead of the outputs" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar keep model.pt", "the content of this file" },
	{ "roar keep @2", "all outputs of step 2" },
	{ "roar keep --inputs @2", "all that step 2 read" },
	{ 0 },
};

const struct command cmd_keep = {
	.name = "keep",
	.group = GROUP_FILES,
	.summary = "keep content of the record in .roar/objects",
	.synopsis = "[OPTION]... REF...",
	.about =
#include "keep.txt.inc"
		,
	.options = options,
	.examples = examples,
	.exit_status =
		"0 when all of it is kept, 1 when a file has changed, does not "
		"fit or cannot be read, 2 on wrong usage.",
	.operand = OPERAND_TARGET,
	.min_operands = 1,
	.max_operands = -1,
	.run = run,
};
