/* inputs.c - `roar inputs`: what something was made from. */
#include <errno.h>
#include <string.h>

#include "base/quote.h"
#include "commands.h"
#include "lineage/fold.h"
#include "query/ancestry.h"
#include "query/collection_fold.h"
#include "query/producer.h"
#include "show/select.h"
#include "show/show_collection.h"
#include "show/show_object.h"
#include "ui/view.h"

enum which { WHICH_ALL, WHICH_SOURCED, WHICH_UNSOURCED };

struct request {
	struct selection target;
	bool deep; /* --all */
	bool json;
	bool files; /* --files: the members of collections one by one */
	enum which which;
};

struct answer {
	struct view *view;
	const struct request *request;
	const struct store_job *job; /* whose inputs; NULL: nobody made it */
	struct ancestor *found;
	size_t n_found;
	struct show_objects objects;
	struct collection_fold fold;
};

static void answer_release(struct answer *a)
{
	collection_fold_release(&a->fold);
}

/* ---- the request ---- */

static int parse_request(const struct args *args, struct request *ret)
{
	*ret = (struct request){
		.deep = args_has(args, "all"),
		.json = args_has(args, "json"),
		.files = args_has(args, "files"),
	};
	if (ret->deep && args_has(args, "direct"))
		return cli_usage(args->command,
				 "--direct and --all exclude each other");
	if (args_has(args, "sourced") && args_has(args, "unsourced"))
		return cli_usage(args->command,
				 "--sourced and --unsourced exclude each other");
	if (args_has(args, "sourced"))
		ret->which = WHICH_SOURCED;
	if (args_has(args, "unsourced"))
		ret->which = WHICH_UNSOURCED;
	if (select_read(args, &ret->target) != 1)
		return cli_usage(
			args->command,
			"exactly one of REF, --path, --job and --artifact is "
			"required");
	return 0;
}

/* ---- the answer ---- */

static bool wanted(const struct answer *a, const struct ancestor *x)
{
	return a->request->which == WHICH_ALL ||
	       (a->request->which == WHICH_SOURCED) == (x->maker != NULL);
}

static int read_answer(struct answer *a, struct target *t,
		       struct roar_error *err)
{
	size_t n = 0;
	int r = 0;

	if (t->kind == TARGET_JOB)
		a->job = &t->job;
	else
		r = producer_find_newest(&a->view->query, t->artifact.id,
					 t->path, &a->job, err);
	if (r < 0 || !a->job)
		return r;
	r = ancestry_walk(&a->view->query, a->job,
			  a->request->deep ? ANCESTRY_DEEP : 0, &a->found,
			  &a->n_found, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < a->n_found; i++)
		if (wanted(a, &a->found[i]))
			a->found[n++] = a->found[i];
	a->n_found = n;
	for (size_t i = 0; r >= 0 && i < n && !a->request->files; i++)
		if (!a->found[i].moved)
			r = collection_fold_count(
				&a->fold, a->found[i].user->id, LINEAGE_INPUT,
				a->found[i].row->path, a->found[i].maker, err);
	return r;
}

/* The collection that is listed instead of the file; NULL: none. */
static struct collection_group *find_group(const struct answer *a,
					   const struct ancestor *x)
{
	struct collection_group *group = x->moved ?
						 NULL :
						 collection_fold_find(
							 &a->fold, x->user->id,
							 LINEAGE_INPUT,
							 x->row->path);

	return group && collection_group_is_whole(group) ? group : NULL;
}

/* ---- text ---- */

static void add_title(struct answer *a)
{
	static const char *const words[] = {
		[WHICH_ALL] = "",
		[WHICH_SOURCED] = "Sourced ",
		[WHICH_UNSOURCED] = "Unsourced ",
	};
	struct view *v = a->view;
	struct str title = STR_INIT;

	str_adds(&title, words[a->request->which]);
	str_adds(&title, a->request->which ? "inputs of " : "Inputs of ");
	view_step_full(v, &title, a->job);
	str_addf(&title, " %s", a->job->uid);
	if (a->request->deep)
		str_adds(&title, " and of everything it was made from");
	str_addf(&title, " (%zu)", a->n_found);
	term_add(&v->out, &v->term, COLOR_BOLD, str_cstr(&title));
	str_addc(&v->out, '\n');
	str_release(&title);
}

/* Hash and size. */
static void add_content(struct view *v, const struct digests *digests,
			uint64_t size)
{
	struct str cell = STR_INIT;

	str_adds(&v->out, "  ");
	view_hash(&cell, digests);
	view_cell_str(v, COLOR_CYAN, &cell, VIEW_HASH_DIGITS + 2);
	str_clear(&cell);
	format_size(&cell, size);
	view_cell_str(v, COLOR_NONE, &cell, 12);
	str_release(&cell);
}

static void add_group(struct view *v, struct collection_group *group)
{
	const struct store_collection *c = &group->use->collection;
	struct digests d = { .have = DIGEST_SET_BLAKE3 };

	memcpy(d.blake3, c->blake3, BLAKE3_LEN);
	add_content(v, &d, (uint64_t)c->size);
	show_group(v, group);
	group->shown = true;
}

static int add_row(struct answer *a, const struct ancestor *x,
		   struct roar_error *err)
{
	struct collection_group *group = find_group(a, x);
	const struct store_object *object;
	struct view *v = a->view;
	int r = show_object_find(v, &a->objects, x->row, &object, err);

	if (group && group->shown)
		return r;
	if (group) {
		add_group(v, group);
	} else {
		add_content(v, &x->row->digests, x->row->stamp.size);
		view_path(v, &v->out, x->row->path);
		show_object_text(v, object);
	}
	if (a->request->deep) {
		str_adds(&v->out, x->moved ? "  moved by " : "  used by ");
		view_step_full(v, &v->out, x->user);
	} else if (x->moved) {
		str_adds(&v->out, "  moved");
	}
	if (x->maker) {
		str_adds(&v->out, "  from ");
		view_step_full(v, &v->out, x->maker);
		str_addf(&v->out, " %s", x->maker->uid);
	} else {
		str_adds(&v->out, "  ");
		term_add(&v->out, &v->term, COLOR_YELLOW, "unsourced");
	}
	str_addc(&v->out, '\n');
	return r;
}

static int add_text(struct answer *a, struct roar_error *err)
{
	const char *word = a->request->target.word;
	struct view *v = a->view;
	int r = 0;

	if (!a->job) {
		str_adds(&v->out, "No recorded job wrote ");
		quote_printable(&v->out, word, strlen(word));
		str_adds(&v->out, ": it came from outside.\n");
		return 0;
	}
	add_title(a);
	for (size_t i = 0; r >= 0 && i < a->n_found; i++)
		r = add_row(a, &a->found[i], err);
	return r;
}

/* ---- JSON ---- */

/* The collections that the text has instead of their files. */
static void json_collections(struct answer *a, struct json *j)
{
	json_put_key(j, "collections");
	json_put_array(j);
	for (size_t i = 0; i < a->n_found; i++) {
		const struct ancestor *x = &a->found[i];
		struct collection_group *group = find_group(a, x);

		if (!group || group->shown)
			continue;
		group->shown = true;
		json_put_object(j);
		show_collection_fields(j, &group->use->collection);
		view_json_text(j, "path", group->use->path);
		view_json_job_ref(a->view, j, "made_by", x->maker);
		view_json_job_ref(a->view, j, "used_by", x->user);
		json_end(j);
	}
	json_end(j);
}

static int add_json(struct answer *a, struct roar_error *err)
{
	struct json j = json_writer(&a->view->out, true);
	const struct store_object *object;
	int r = 0;

	json_put_object(&j);
	view_json_job_ref(a->view, &j, "job", a->job);
	view_json_text(&j, "scope", a->request->deep ? "all" : "direct");
	json_put_key(&j, "inputs");
	json_put_array(&j);
	for (size_t i = 0; r >= 0 && i < a->n_found; i++) {
		const struct ancestor *x = &a->found[i];

		r = show_object_find(a->view, &a->objects, x->row, &object,
				     err);
		json_put_object(&j);
		view_json_text(&j, "path", x->row->path);
		view_json_digests(&j, "digests", &x->row->digests);
		view_json_int(&j, "size_bytes", (int64_t)x->row->stamp.size);
		view_json_int(&j, "depth", (int64_t)x->depth);
		view_json_bool(&j, "sourced", x->maker != NULL);
		view_json_bool(&j, "moved", x->moved);
		show_object_json(&j, "object", object);
		view_json_job_ref(a->view, &j, "made_by", x->maker);
		view_json_job_ref(a->view, &j, "used_by", x->user);
		json_end(&j);
	}
	json_end(&j);
	json_collections(a, &j);
	json_end(&j);
	str_addc(&a->view->out, '\n');
	return r;
}

/* ---- the command ---- */

static int run(const struct args *args)
{
	CLEANUP(view_close) struct view v = VIEW_INIT;
	struct roar_error err = { 0 };
	struct request q;
	CLEANUP(answer_release)
	struct answer a = { .view = &v,
			    .request = &q,
			    .fold = { .query = &v.query } };
	struct target t;
	int r;

	r = parse_request(args, &q);
	if (r)
		return r;
	r = view_open(&v, STORE_READONLY);
	if (r)
		return r;
	/* Until the view is closed. */
	r = store_snapshot_begin(v.store, &err);
	if (r >= 0)
		r = target_resolve(&v.query, v.project.cwd, q.target.word,
				   q.target.want, &t, &err);
	if (r == -EINVAL)
		return cli_usage(args->command, "%s", err.text);
	if (r >= 0)
		r = read_answer(&a, &t, &err);
	if (r < 0)
		return view_fail(r, &err);
	r = q.json ? add_json(&a, &err) : add_text(&a, &err);
	return r < 0 ? view_fail(r, &err) : view_print(&v);
}

static const struct option_spec options[] = {
	{ .name = "path",
	  .arg = "PATH",
	  .help = "inputs of the job that wrote this file" },
	{ .name = "job",
	  .arg = "REF",
	  .help = "inputs of a job: @N, @BN or the start of its UID" },
	{ .name = "artifact",
	  .arg = "HASH",
	  .help = "inputs of the job that wrote the content with this hash" },
	{ .name = "direct",
	  .help = "only the inputs of the job itself (default)" },
	{ .name = "all",
	  .letter = 'a',
	  .help = "also the inputs of its inputs, back to the start" },
	{ .name = "files", .help = "list the files of collections one by one" },
	{ .name = "unsourced",
	  .help = "only inputs that no recorded job wrote" },
	{ .name = "sourced", .help = "only inputs that a recorded job wrote" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar inputs @2", "the inputs of step 2" },
	{ "roar inputs model.pt --all --unsourced",
	  "all external inputs of model.pt" },
	{ 0 },
};

const struct command cmd_inputs = {
	.name = "inputs",
	.group = GROUP_INSPECT,
	.summary = "list the inputs of a job or file",
	.synopsis = "[OPTION]... REF",
	.about =
#include "inputs.txt.inc"
		,
	.options = options,
	.examples = examples,
	.operand = OPERAND_TARGET,
	.max_operands = 1,
	.run = run,
};
