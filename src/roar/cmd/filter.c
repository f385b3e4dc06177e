/* filter.c - `roar filter`: which files are left out of sight. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/quote.h"
#include "base/toml_edit.h"
#include "commands.h"
#include "lineage/filter.h"
#include "project/config_file.h"
#include "project/project.h"

static const char key_name[] = "filters.ignore_paths";

static const struct option_spec options[] = {
	{ .name = "json", .help = "print JSON (list)" },
	{ 0 },
};

static const struct verb_spec verbs[] = {
	{ "list", "", "show the built-in filters and your patterns", "json" },
	{ "add", "PATTERN...", "hide matching files", NULL },
	{ "remove", "PATTERN...", "remove patterns", NULL },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar filter add /mnt/scratch", "everything below a directory" },
	{ "roar filter add '*.log' checkpoints/tmp",
	  "any path with such a component" },
	{ "roar filter remove '*.log'", NULL },
	{ 0 },
};

/* ---- list ---- */

/* Is a built-in filter on?  One without a key always is. */
static int is_on(struct config_file *f, enum filter_id id, bool *ret)
{
	const struct config_key *key = NULL;
	struct toml_value value;
	bool is_default;
	int r;

	if (filter_key(id))
		key = config_key_find(filter_key(id));
	*ret = true;
	if (!key)
		return 0;
	r = config_file_value(f, key, &value, &is_default);
	if (r == 0)
		*ret = value.boolean;
	return r;
}

static void add_json_filter(struct json *j, enum filter_id id, bool on)
{
	json_put_object(j);
	json_put_key(j, "name");
	json_put_string(j, filter_name(id));
	json_put_key(j, "key");
	json_put_string(j, filter_key(id));
	json_put_key(j, "on");
	json_put_bool(j, on);
	json_end(j);
}

static int add_filters(struct str *out, struct json *j, struct config_file *f)
{
	for (int id = FILTER_NONE + 1; id < FILTER_PATTERNS; id++) {
		const char *key = filter_key((enum filter_id)id);
		bool on;
		int r;

		r = is_on(f, (enum filter_id)id, &on);
		if (r < 0)
			return r;
		if (j)
			add_json_filter(j, (enum filter_id)id, on);
		else
			str_addf(out, "  %-16s %-4s %s\n",
				 filter_name((enum filter_id)id),
				 on ? "on" : "off", key ? key : "always on");
	}
	return 0;
}

static int get_patterns(struct config_file *f, struct toml_value *ret)
{
	bool is_default;

	return config_file_value(f, config_key_find(key_name), ret,
				 &is_default);
}

static int list_json(struct str *out, struct config_file *f)
{
	struct json j = json_writer(out, true);
	struct toml_value patterns;
	int r;

	r = get_patterns(f, &patterns);
	if (r < 0)
		return r;
	json_put_object(&j);
	json_put_key(&j, "filters");
	json_put_array(&j);
	r = add_filters(NULL, &j, f);
	if (r < 0)
		return r;
	json_end(&j);
	json_put_key(&j, "patterns");
	json_put_array(&j);
	for (const struct toml_value *v = patterns.items; v; v = v->next)
		json_put_string(&j, v->string);
	json_end(&j);
	json_end(&j);
	str_addc(out, '\n');
	return 0;
}

static int list_text(struct str *out, struct config_file *f)
{
	struct toml_value patterns;
	int r;

	str_adds(out, "Built-in filters:\n");
	r = add_filters(out, NULL, f);
	if (r == 0)
		r = get_patterns(f, &patterns);
	if (r < 0)
		return r;
	str_adds(out, patterns.n_items ? "Your patterns:\n" :
					 "No patterns are set.\n");
	for (const struct toml_value *v = patterns.items; v; v = v->next) {
		str_adds(out, "  ");
		quote_printable(out, v->string, strlen(v->string));
		str_addc(out, '\n');
	}
	return 0;
}

static int list(const struct args *args, const char *dir)
{
	CLEANUP(config_file_release) struct config_file f = { 0 };
	CLEANUP(str_release) struct str out = STR_INIT;
	struct roar_error err = { .text = "no memory for the settings" };
	int r;

	r = config_file_read(dir, &f, &err);
	if (r == 0)
		r = args_has(args, "json") ? list_json(&out, &f) :
					     list_text(&out, &f);
	if (r < 0)
		return cli_fail("%s", err.text);
	return cli_print(&out);
}

/* ---- add and remove ---- */

struct change {
	char **patterns; /* NULL-terminated */
	bool remove;
	int n_changed;
	struct str known; /* a line for each that was there already */
};

static int check_pattern(const char *pattern, struct roar_error *err)
{
	CLEANUP(str_release) struct str shown = STR_INIT;

	quote_printable_cut(&shown, pattern, 200);
	if (!*pattern)
		return error_set(err, -EINVAL,
				 "an empty pattern would match everything");
	if (!strncmp(pattern, "../", 3) ||
	    (pattern[0] == '~' && pattern[1] != '/'))
		return error_set(
			err, -EINVAL,
			"pattern '%s' would never match: use an absolute path, one "
			"that starts with '~/', or a component of a path",
			str_cstr(&shown));
	return 0;
}

static ssize_t index_of(const struct toml_value *array, const char *pattern)
{
	ssize_t i = 0;

	for (const struct toml_value *v = array->items; v; v = v->next, i++)
		if (!strcmp(v->string, pattern))
			return i;
	return -1;
}

/* The array as it stands, NULL when the file has none. */
static int find_array(const struct config_file *f, const struct toml *doc,
		      const struct toml_value **ret, struct roar_error *err)
{
	const struct toml_entry *e = toml_find(doc, key_name);
	struct roar_error why = { 0 };
	int r;

	*ret = NULL;
	if (!e)
		return 0;
	r = config_check(config_key_find(key_name), &e->value, &why);
	if (r < 0)
		return error_set(err, r, "'%s' line %d: %s", str_cstr(&f->path),
				 e->value.line, why.text);
	*ret = &e->value;
	return 0;
}

static int add_one(const struct str *text, const struct toml *doc,
		   const struct toml_value *array, const char *pattern,
		   struct str *out, struct roar_error *err)
{
	CLEANUP(str_release) struct str item = STR_INIT;
	CLEANUP(str_release) struct str value = STR_INIT;
	int r = toml_add_string(&item, pattern);

	if (r < 0)
		return error_set(
			err, r,
			"a pattern is not valid UTF-8 and cannot be stored in "
			"config.toml");
	if (array)
		return toml_array_add(text->data, text->len, doc, "filters",
				      "ignore_paths", str_cstr(&item), out);
	str_addf(&value, "[%s]", str_cstr(&item));
	return toml_set(text->data, text->len, doc, "filters", "ignore_paths",
			str_cstr(&value), out, err);
}

/* One pattern in or out of the text; 1 when it changed, 0 when not. */
static int change_one(const struct config_file *f, const struct str *text,
		      const char *pattern, bool remove, struct str *out,
		      struct roar_error *err)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	const struct toml_value *array;
	struct toml doc;
	ssize_t at;
	int r;

	r = toml_parse(str_cstr(text), text->len, str_cstr(&f->path), &pool,
		       &doc, err);
	if (r == 0)
		r = find_array(f, &doc, &array, err);
	if (r < 0)
		return r;
	at = array ? index_of(array, pattern) : -1;
	if (remove && at < 0)
		return error_set(
			err, -ENOENT,
			"pattern '%.200s' is not set, nothing was removed: 'roar "
			"filter list' shows all patterns",
			pattern);
	if (!remove && at >= 0)
		return 0;
	if (remove)
		r = toml_array_remove(text->data, text->len, &doc, "filters",
				      "ignore_paths", (size_t)at, out);
	else
		r = add_one(text, &doc, array, pattern, out, err);
	return r < 0 ? r : 1;
}

static int edit(const struct config_file *f, void *ctx, struct str *out,
		struct roar_error *err)
{
	struct change *c = ctx;

	str_add(out, f->text.data, f->text.len);
	for (char **p = c->patterns; *p; p++) {
		CLEANUP(str_release) struct str next = STR_INIT;
		int r = change_one(f, out, *p, c->remove, &next, err);

		if (r < 0)
			return r;
		if (r == 0) {
			str_adds(&c->known, "Pattern '");
			quote_printable_cut(&c->known, *p, 200);
			str_adds(&c->known, "' is already set\n");
			continue;
		}
		c->n_changed++;
		str_clear(out);
		str_add(out, next.data, next.len);
	}
	return c->n_changed > 0;
}

static int report_change(const struct change *c)
{
	CLEANUP(str_release) struct str out = STR_INIT;

	if (c->n_changed) {
		str_adds(&out, c->remove ? "Removed " : "Added ");
		format_count(&out, (uint64_t)c->n_changed, "pattern");
		str_addc(&out, '\n');
	}
	str_adds(&out, str_cstr(&c->known));
	return cli_print(&out);
}

static int change(const struct args *args, const char *dir, bool remove)
{
	struct roar_error err = { .text = "no memory for the patterns" };
	struct change c = { .patterns = args->operands + 1, .remove = remove };
	int r;

	for (char **p = c.patterns; *p && !remove; p++)
		if (check_pattern(*p, &err) < 0)
			return cli_usage(args->command, "%s", err.text);
	r = config_file_edit(dir, edit, &c, &err) < 0 ?
		    cli_fail("%s", err.text) :
		    report_change(&c);
	str_release(&c.known);
	return r;
}

/* ---- the command ---- */

static int run(const struct args *args)
{
	CLEANUP(project_release) struct project p = { .dirfd = -1 };
	const char *verb = args->n_operands ? args->operands[0] : "list";
	struct roar_error err = { 0 };

	if (project_open(PROJECT_NO_CONFIG, &p, NULL, &err) < 0)
		return cli_fail("%s", err.text);
	if (!strcmp(verb, "list"))
		return list(args, p.dir);
	return change(args, p.dir, !strcmp(verb, "remove"));
}

const struct command cmd_filter = {
	.name = "filter",
	.group = GROUP_SETUP,
	.summary = "choose which files are hidden",
	.synopsis = "[list | add PATTERN... | remove PATTERN...] [--json]",
	.about =
#include "filter.txt.inc"
		,
	.options = options,
	.verbs = verbs,
	.examples = examples,
	.exit_status = "0 on success, 1 on failure, also when a pattern to remove "
		       "is not set, 2 on wrong usage.",
	.operand = OPERAND_NONE,
	.max_operands = 0,
	.run = run,
};
