/* objects.c - `roar objects`: what is kept in .roar/objects. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/macros.h"
#include "base/number.h"
#include "base/path.h"
#include "base/quote.h"
#include "base/vec.h"
#include "commands.h"
#include "keep/keep.h"
#include "project/config.h"
#include "project/owner.h"
#include "query/target.h"
#include "ui/table.h"
#include "ui/view.h"

struct object {
	struct keep_item item;
	const char *path; /* first recorded name; NULL: no record mentions it */
	const char *why; /* it is removed, or is damaged; NULL: neither */
};

struct objects {
	struct view view;
	struct object *list; /* the oldest first */
	size_t n, cap;
	uint64_t max_bytes; /* UINT64_MAX: no limit */
};

/* ---- reading ---- */

static int add_item(void *ctx, const struct keep_item *item)
{
	struct objects *o = ctx;
	struct object *object = VEC_PUSH(o->list, o->n, o->cap);

	if (!object)
		return -ENOMEM;
	*object = (struct object){ .item = *item };
	return 0;
}

static int by_age(const void *a, const void *b)
{
	const struct keep_item *x = &((const struct object *)a)->item;
	const struct keep_item *y = &((const struct object *)b)->item;

	if (x->kept_ns != y->kept_ns)
		return x->kept_ns < y->kept_ns ? -1 : 1;
	return memcmp(x->blake3, y->blake3, BLAKE3_LEN);
}

static int find_path(struct objects *o, struct object *object,
		     struct roar_error *err)
{
	struct pool scratch = POOL_INIT;
	char hex[2 * BLAKE3_LEN + 1];
	struct store_artifact *found;
	size_t n = 0;
	int r;

	digest_hex(hex, object->item.blake3, BLAKE3_LEN);
	r = store_artifacts_by_prefix(o->view.store, &scratch, hex, 1, &found,
				      &n, err);
	if (r >= 0 && n) {
		object->path = pool_strdup(&o->view.pool, found->first_path);
		r = object->path ? 0 : -ENOMEM;
	}
	pool_release(&scratch);
	return r;
}

static int read_objects(struct objects *o, struct roar_error *err)
{
	int r = keep_each(o->view.project.dirfd, add_item, o);

	if (r < 0)
		return error_set(err, r, "cannot read '%s/objects': %s",
				 o->view.project.dir, strerror(-r));
	if (o->n)
		qsort(o->list, o->n, sizeof(*o->list), by_age);
	for (size_t i = 0; i < o->n && r >= 0; i++)
		r = find_path(o, &o->list[i], err);
	return r;
}

static uint64_t count_bytes(const struct objects *o)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < o->n; i++)
		sum += o->list[i].why ? 0 : o->list[i].item.size_bytes;
	return sum;
}

/* ---- output ---- */

static void json_object(struct json *j, const struct object *object)
{
	char hex[2 * BLAKE3_LEN + 1];

	digest_hex(hex, object->item.blake3, BLAKE3_LEN);
	json_put_object(j);
	view_json_text(j, "blake3", hex);
	view_json_int(j, "size_bytes", (int64_t)object->item.size_bytes);
	view_json_text(j, "path", object->path);
}

static void json_limit(struct json *j, uint64_t max_bytes)
{
	view_json_count(j, "max_size_bytes",
			max_bytes > INT64_MAX ? -1 : (int64_t)max_bytes);
}

static void table_object(struct objects *o, struct table *t,
			 const struct object *object)
{
	char hex[2 * BLAKE3_LEN + 1];

	digest_hex(hex, object->item.blake3, BLAKE3_LEN);
	hex[VIEW_HASH_DIGITS] = '\0';
	table_text(t, hex);
	table_size(t, object->item.size_bytes);
	clock_format(&t->cells, object->item.kept_ns);
	table_cell(t);
	if (object->path)
		view_path(&o->view, &t->cells, object->path);
	else
		str_adds(&t->cells, "(no record)");
	table_cell(t);
}

/* ---- ls ---- */

static void list_json(struct objects *o)
{
	struct json j = json_writer(&o->view.out, true);

	json_put_object(&j);
	json_put_key(&j, "objects");
	json_put_array(&j);
	for (size_t i = 0; i < o->n; i++) {
		json_object(&j, &o->list[i]);
		view_json_time(&j, "kept_at", o->list[i].item.kept_ns);
		view_json_bool(&j, "linked", o->list[i].item.is_linked);
		json_end(&j);
	}
	json_end(&j);
	view_json_int(&j, "size_bytes", (int64_t)count_bytes(o));
	json_limit(&j, o->max_bytes);
	json_end(&j);
	str_addc(&o->view.out, '\n');
}

static void list_text(struct objects *o)
{
	static const char *const head[] = { "HASH", "SIZE", "KEPT", "FILE",
					    NULL };
	struct table t = TABLE_INIT;
	struct str *out = &o->view.out;

	if (o->n)
		table_head(&t, head);
	for (size_t i = 0; i < o->n; i++) {
		table_object(o, &t, &o->list[i]);
		table_row(&t);
	}
	table_print(&t, out, &o->view.term, 0);
	table_release(&t);
	format_count(out, o->n, "object");
	str_adds(out, ", ");
	format_size(out, count_bytes(o));
	if (o->max_bytes != UINT64_MAX) {
		str_adds(out, " of ");
		format_size(out, o->max_bytes);
	}
	str_addc(out, '\n');
}

static int list(struct objects *o, const struct args *args,
		struct roar_error *err)
{
	int r = read_objects(o, err);

	if (r < 0)
		return r;
	if (args_has(args, "json"))
		list_json(o);
	else
		list_text(o);
	return 0;
}

/* ---- verify ---- */

static void verify_json(struct objects *o)
{
	struct json j = json_writer(&o->view.out, true);

	json_put_object(&j);
	view_json_int(&j, "verified", (int64_t)o->n);
	json_put_key(&j, "damaged");
	json_put_array(&j);
	for (size_t i = 0; i < o->n; i++) {
		if (!o->list[i].why)
			continue;
		json_object(&j, &o->list[i]);
		view_json_text(&j, "reason", o->list[i].why);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	str_addc(&o->view.out, '\n');
}

static void verify_text(struct objects *o, size_t n_damaged)
{
	struct str *out = &o->view.out;
	struct table t = TABLE_INIT;

	for (size_t i = 0; i < o->n; i++) {
		if (!o->list[i].why)
			continue;
		table_object(o, &t, &o->list[i]);
		table_text(&t, o->list[i].why);
		table_row(&t);
	}
	table_print(&t, out, &o->view.term, 0);
	table_release(&t);
	format_count(out, o->n, "object");
	str_adds(out, " verified, ");
	format_number(out, n_damaged);
	str_adds(out, n_damaged ?
			      " damaged: 'roar keep REF' repairs one from a "
			      "file that has its content\n" :
			      " damaged\n");
}

static int verify(struct objects *o, const struct args *args,
		  struct roar_error *err)
{
	size_t n_damaged = 0;
	int r = read_objects(o, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < o->n; i++) {
		struct object *object = &o->list[i];

		r = keep_verify(o->view.project.dirfd, object->item.blake3);
		if (r == -ENOENT || r == 0) /* removed meanwhile */
			continue;
		object->why = r == -EBADMSG ? "other content" : strerror(-r);
		n_damaged++;
	}
	if (args_has(args, "json"))
		verify_json(o);
	else
		verify_text(o, n_damaged);
	return n_damaged > 0;
}

/* ---- gc ---- */

/* What no record mentions; then the oldest, until the rest fits. */
static void choose_garbage(struct objects *o)
{
	uint64_t left;

	for (size_t i = 0; i < o->n; i++)
		if (!o->list[i].path)
			o->list[i].why = "unrecorded";
	left = count_bytes(o);
	for (size_t i = 0; i < o->n && left > o->max_bytes; i++) {
		if (o->list[i].why)
			continue;
		o->list[i].why = "size";
		left -= o->list[i].item.size_bytes;
	}
}

static int remove_garbage(struct objects *o, uint64_t *freed,
			  struct roar_error *err)
{
	int dirfd = o->view.project.dirfd;
	int r = keep_sweep(dirfd, freed);

	for (size_t i = 0; i < o->n && r == 0; i++) {
		if (!o->list[i].why)
			continue;
		r = keep_remove(dirfd, o->list[i].item.blake3);
		if (r == -ENOENT)
			r = 0; /* another was faster */
	}
	if (r < 0)
		return error_set(err, r, "cannot remove from '%s/objects': %s",
				 o->view.project.dir, strerror(-r));
	return 0;
}

static void gc_json(struct objects *o, uint64_t freed, bool dry_run)
{
	struct json j = json_writer(&o->view.out, true);

	json_put_object(&j);
	json_put_key(&j, "removed");
	json_put_array(&j);
	for (size_t i = 0; i < o->n; i++) {
		if (!o->list[i].why)
			continue;
		json_object(&j, &o->list[i]);
		view_json_text(&j, "reason", o->list[i].why);
		json_end(&j);
	}
	json_end(&j);
	view_json_bool(&j, "dry_run", dry_run);
	view_json_int(&j, "freed_bytes", (int64_t)freed);
	view_json_int(&j, "size_bytes", (int64_t)count_bytes(o));
	json_end(&j);
	str_addc(&o->view.out, '\n');
}

static void gc_text(struct objects *o, uint64_t freed, bool dry_run)
{
	struct str *out = &o->view.out;
	struct table t = TABLE_INIT;
	size_t n = 0;

	for (size_t i = 0; i < o->n; i++) {
		if (!o->list[i].why)
			continue;
		table_text(&t, dry_run ? "would remove" : "removed");
		table_object(o, &t, &o->list[i]);
		table_text(&t, o->list[i].why);
		table_row(&t);
		n++;
	}
	table_print(&t, out, &o->view.term, 0);
	table_release(&t);
	format_count(out, n, "object");
	str_adds(out, dry_run ? " would be removed, " : " removed, ");
	format_size(out, freed);
	str_adds(out, "; ");
	format_size(out, count_bytes(o));
	str_adds(out, " left\n");
}

static int collect_garbage(struct objects *o, const struct args *args,
			   struct roar_error *err)
{
	bool dry_run = args_has(args, "dry-run");
	uint64_t freed = 0;
	int r = read_objects(o, err);
	uint64_t before = count_bytes(o);

	if (r < 0)
		return r;
	choose_garbage(o);
	if (!dry_run)
		r = remove_garbage(o, &freed, err);
	if (r < 0)
		return r;
	freed += before - count_bytes(o);
	if (args_has(args, "json"))
		gc_json(o, freed, dry_run);
	else
		gc_text(o, freed, dry_run);
	return 0;
}

/* ---- restore ---- */

/* Of a file, or of any other thing in an object store, the part after the last slash. */
static void add_destination(struct objects *o, const struct target *t,
			    const char *dest, struct str *out)
{
	const char *path = t->path ? t->path : t->artifact.first_path;
	struct stat st;

	path_normalize(out, o->view.project.cwd, dest ? dest : path);
	if (dest && !out->failed && stat(out->data, &st) == 0 &&
	    S_ISDIR(st.st_mode))
		str_addf(out, "/%s", path_basename(path));
}

static const char *restore_reason(int r)
{
	switch (r) {
	case -ENOENT:
		return "it is not kept, or the directory does not exist";
	case -EEXIST:
		return "there is such a file; give --force to replace it";
	case -EBADMSG:
		return "what is kept is damaged; 'roar keep' repairs it from a "
		       "file that has the content";
	default:
		return strerror(-r);
	}
}

static int put_back(const struct objects *o, const struct target *t,
		    const char *path, bool force, struct roar_error *err)
{
	mode_t mask = umask(0);
	int r;

	(void)umask(mask);
	r = keep_restore(o->view.project.dirfd, t->artifact.digests.blake3,
			 AT_FDCWD, path, 0666 & ~mask,
			 force ? KEEP_REPLACE : 0);
	if (r < 0)
		return error_set(err, r == -EINVAL ? -EIO : r,
				 "cannot restore '%.300s': %s", path,
				 restore_reason(r));
	return 0;
}

static int restore(struct objects *o, const struct args *args,
		   struct roar_error *err)
{
	CLEANUP(str_release) struct str path = STR_INIT;
	struct view *v = &o->view;
	const char *word = args->operands[1];
	struct target t;
	int r = target_resolve(&v->query, v->project.cwd, word, TARGET_ANY, &t,
			       err);

	if (r < 0)
		return r;
	if (t.kind != TARGET_ARTIFACT)
		return error_set(err, -EINVAL,
				 "'%.100s' is a job: name one of its files, "
				 "'roar show %.100s' lists them",
				 word, word);
	add_destination(o, &t, args->operands[2], &path);
	if (path.failed)
		return -ENOMEM;
	r = put_back(o, &t, path.data, args_has(args, "force"), err);
	if (r < 0)
		return r;
	if (args_has(args, "json")) {
		struct json j = json_writer(&v->out, true);
		struct object object = { .path = path.data };

		object.item.size_bytes = (uint64_t)t.artifact.size;
		memcpy(object.item.blake3, t.artifact.digests.blake3,
		       BLAKE3_LEN);
		json_object(&j, &object);
		json_end(&j);
	} else {
		str_adds(&v->out, "restored  ");
		view_path(v, &v->out, path.data);
	}
	str_addc(&v->out, '\n');
	return 0;
}

/* ---- the command ---- */

static const struct {
	const char *name;
	int (*run)(struct objects *o, const struct args *args,
		   struct roar_error *err);
} table[] = {
	{ "ls", list },
	{ "verify", verify },
	{ "gc", collect_garbage },
	{ "restore", restore },
};

static int find_limit(struct objects *o, const struct args *args,
		      struct roar_error *err)
{
	const char *given = args_get(args, "max-size");
	struct config config = { 0 };
	int r = config_load(o->view.project.dir, &config);

	if (r < 0)
		return r;
	o->max_bytes = config.objects_max_size;
	config_release(&config);
	if (given && number_parse_size(given, &o->max_bytes) < 0)
		return error_set(
			err, -EINVAL,
			"option '--max-size' takes a size such as 20GiB, "
			"not '%.40s'",
			given);
	return 0;
}

static int run_verb(struct objects *o, const struct args *args)
{
	struct roar_error err = { 0 };
	int status;
	int r = find_limit(o, args, &err);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(table); i++)
		if (!strcmp(args->operands[0], table[i].name)) {
			r = table[i].run(o, args, &err);
			break;
		}
	if (r == -EINVAL)
		return cli_usage(args->command, "%s", err.text);
	if (r < 0)
		return view_fail(r, &err);
	status = view_print(&o->view);
	return status ? status : r;
}

/* The parser has checked the verb and the number of its operands. */
static int run(const struct args *args)
{
	struct objects o = { .view = VIEW_INIT };
	int r;

	if (!args->n_operands)
		return cli_usage(args->command, "say what to do, such as 'ls'");
	r = view_open(&o.view, STORE_READONLY);
	if (r == 0)
		r = run_verb(&o, args);
	free(o.list);
	view_close(&o.view);
	return r;
}

static const struct option_spec options[] = {
	{ .name = "dry-run",
	  .letter = 'n',
	  .help = "gc: print what would be removed, and remove nothing" },
	{ .name = "max-size",
	  .arg = "SIZE",
	  .help = "gc: the size that the rest may have (objects.max_size)" },
	{ .name = "force",
	  .letter = 'f',
	  .help = "restore: replace a file that exists" },
	{ .name = "json", .help = "print JSON" },
	{ 0 },
};

static const struct verb_spec verbs[] = {
	{ "ls", "", "list kept content", "json" },
	{ "restore", "REF [DEST]", "write kept content to a file",
	  "force json" },
	{ "verify", "", "read all of it and compare it with its hashes",
	  "json" },
	{ "gc", "",
	  "remove what no record mentions, and the oldest beyond the "
	  "limit",
	  "dry-run max-size json" },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar objects ls", NULL },
	{ "roar objects restore model.pt old.pt",
	  "the recorded content of model.pt, as a new file" },
	{ "roar objects gc --max-size 20GiB --dry-run", NULL },
	{ 0 },
};

const struct command cmd_objects = {
	.name = "objects",
	.group = GROUP_FILES,
	.summary = "list, restore, verify and remove kept content",
	.synopsis = "VERB [OPTION]... [ARG]...",
	.about =
#include "objects.txt.inc"
		,
	.exit_status =
		"0 on success. 1 when content is damaged (verify), or cannot be "
		"restored or removed, 2 on wrong usage.",
	.options = options,
	.verbs = verbs,
	.examples = examples,
	.operand = OPERAND_TARGET,
	.max_operands = 0,
	.run = run,
};
