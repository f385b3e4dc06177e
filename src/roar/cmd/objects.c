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
#include "commands.h"
#include "keep/keep.h"
#include "project/config.h"
#include "project/kept_list.h"
#include "query/target.h"
#include "ui/table.h"
#include "ui/view.h"

/* What a verb answers: objects, numbers, and a sentence. */
struct answer {
	const char *key; /* of the list of objects, in JSON */
	bool chosen; /* only objects with a reason */
	struct {
		const char *key;
		int64_t n; /* negative: null */
	} numbers[2];
	struct str sentence;
};

/* ---- output ---- */

static void add_object(struct json *j, const struct kept_object *object)
{
	char hex[2 * BLAKE3_LEN + 1];

	digest_hex(hex, object->item.blake3, BLAKE3_LEN);
	json_put_object(j);
	view_json_text(j, "blake3", hex);
	view_json_int(j, "size_bytes", (int64_t)object->item.size_bytes);
	view_json_time(j, "kept_at", object->item.kept_ns);
	view_json_text(j, "path", object->path);
	view_json_bool(j, "linked", object->item.is_linked);
	view_json_text(j, "reason", object->why);
	json_end(j);
}

static void add_json(struct kept_list *o, const struct answer *a)
{
	struct json j = json_writer(&o->view.out, true);

	json_put_object(&j);
	json_put_key(&j, a->key);
	json_put_array(&j);
	for (size_t i = 0; i < o->n; i++)
		if (!a->chosen || o->list[i].why)
			add_object(&j, &o->list[i]);
	json_end(&j);
	for (size_t i = 0; i < ARRAY_SIZE(a->numbers) && a->numbers[i].key; i++)
		view_json_count(&j, a->numbers[i].key, a->numbers[i].n);
	json_end(&j);
	str_addc(&o->view.out, '\n');
}

static void add_row(struct kept_list *o, struct table *t,
		    const struct kept_object *object)
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
	if (object->why)
		table_text(t, object->why);
	table_row(t);
}

static void add_text(struct kept_list *o, const struct answer *a)
{
	struct table t = TABLE_INIT;

	/* That of a restored object was not read: the sentence is enough. */
	for (size_t i = 0; i < o->n; i++)
		if ((!a->chosen || o->list[i].why) && o->list[i].item.kept_ns)
			add_row(o, &t, &o->list[i]);
	table_print(&t, &o->view.out, &o->view.term, 0);
	table_release(&t);
	str_adds(&o->view.out, str_cstr(&a->sentence));
	str_addc(&o->view.out, '\n');
}

/* ---- ls ---- */

static int list(struct kept_list *o, const struct args *args, struct answer *a,
		struct roar_error *err)
{
	uint64_t n_bytes = kept_list_bytes(o);

	(void)args;
	(void)err;
	a->key = "objects";
	a->numbers[0].key = "size_bytes";
	a->numbers[0].n = (int64_t)n_bytes;
	a->numbers[1].key = "max_size_bytes";
	a->numbers[1].n = (int64_t)o->max_bytes; /* no limit is negative */
	format_count(&a->sentence, o->n, "object");
	str_adds(&a->sentence, ", ");
	format_size(&a->sentence, n_bytes);
	if (o->max_bytes != UINT64_MAX) {
		str_adds(&a->sentence, " of ");
		format_size(&a->sentence, o->max_bytes);
	}
	return 0;
}

/* ---- verify ---- */

static int verify(struct kept_list *o, const struct args *args,
		  struct answer *a, struct roar_error *err)
{
	size_t n_damaged = 0;

	(void)args;
	(void)err;
	for (size_t i = 0; i < o->n; i++) {
		struct kept_object *object = &o->list[i];
		int r = keep_verify(o->view.project.dirfd, object->item.blake3);

		if (r == 0 || r == -ENOENT) /* removed meanwhile */
			continue;
		object->why = r == -EBADMSG ? "other content" : strerror(-r);
		n_damaged++;
	}
	a->key = "damaged";
	a->chosen = true;
	a->numbers[0].key = "verified";
	a->numbers[0].n = (int64_t)o->n;
	format_count(&a->sentence, o->n, "object");
	str_addf(&a->sentence, " verified, %zu damaged%s", n_damaged,
		 n_damaged ? ": 'roar keep REF' repairs one from a file that "
			     "has its content" :
			     "");
	return n_damaged > 0;
}

/* ---- gc ---- */

static int collect_garbage(struct kept_list *o, const struct args *args,
			   struct answer *a, struct roar_error *err)
{
	bool dry_run = args_has(args, "dry-run");
	uint64_t before = kept_list_bytes(o);
	uint64_t freed = 0;
	size_t n = 0;
	int r = 0;

	kept_list_choose(o);
	if (!dry_run)
		r = kept_list_remove(o, &freed, err);
	for (size_t i = 0; i < o->n; i++)
		n += o->list[i].why != NULL;
	freed += before - kept_list_bytes(o);
	a->key = "removed";
	a->chosen = true;
	a->numbers[0].key = "freed_bytes";
	a->numbers[0].n = (int64_t)freed;
	a->numbers[1].key = "size_bytes";
	a->numbers[1].n = (int64_t)kept_list_bytes(o);
	format_count(&a->sentence, n, "object");
	str_adds(&a->sentence, dry_run ? " would be removed, " : " removed, ");
	format_size(&a->sentence, freed);
	str_adds(&a->sentence, "; ");
	format_size(&a->sentence, kept_list_bytes(o));
	str_adds(&a->sentence, " left");
	return r;
}

/* ---- restore ---- */

/* Of a file, or of any other thing in an object store, the part after the last slash. */
static void add_destination(struct kept_list *o, const struct target *t,
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

static int put_back(const struct kept_list *o, const struct target *t,
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

static int restore(struct kept_list *o, const struct args *args,
		   struct answer *a, struct roar_error *err)
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
	r = path.failed ?
		    -ENOMEM :
		    put_back(o, &t, path.data, args_has(args, "force"), err);
	if (r == 0)
		r = kept_list_find(o, t.artifact.digests.blake3, err);
	a->key = "restored";
	str_adds(&a->sentence, "restored ");
	view_path(v, &a->sentence, str_cstr(&path));
	return r;
}

/* ---- the command ---- */

static const struct {
	const char *name;
	int (*run)(struct kept_list *o, const struct args *args,
		   struct answer *a, struct roar_error *err);
	bool reads; /* the list of all objects first */
} table[] = {
	{ "ls", list, true },
	{ "verify", verify, true },
	{ "gc", collect_garbage, true },
	{ "restore", restore, false },
};

static int find_limit(struct kept_list *o, const struct args *args,
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

static int run_verb(struct kept_list *o, const struct args *args,
		    struct answer *a)
{
	struct roar_error err = { 0 };
	int status;
	int r = find_limit(o, args, &err);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(table); i++) {
		if (strcmp(args->operands[0], table[i].name) != 0)
			continue;
		if (table[i].reads)
			r = kept_list_read(o, &err);
		if (r == 0)
			r = table[i].run(o, args, a, &err);
		break;
	}
	if (r == -EINVAL)
		return cli_usage(args->command, "%s", err.text);
	if (r < 0)
		return view_fail(r, &err);
	if (args_has(args, "json"))
		add_json(o, a);
	else
		add_text(o, a);
	status = view_print(&o->view);
	return status ? status : r;
}

/* The parser has checked the verb and the number of its operands. */
static int run(const struct args *args)
{
	struct kept_list o = { .view = VIEW_INIT };
	struct answer answer = { 0 };
	int r;

	if (!args->n_operands)
		return cli_usage(args->command, "say what to do, such as 'ls'");
	r = view_open(&o.view, STORE_READONLY);
	if (r == 0)
		r = run_verb(&o, args, &answer);
	free(o.list);
	str_release(&answer.sentence);
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
