/* config.c - `roar config`: show and change settings. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/quote.h"
#include "base/toml_edit.h"
#include "cli/suggest.h"
#include "commands.h"
#include "project/config_file.h"
#include "project/project.h"

static const struct option_spec options[] = {
	{ .name = "json", .help = "print JSON (list, get)" },
	{ 0 },
};

static const struct verb_spec verbs[] = {
	{ "list", "", "show every setting with its value and meaning", "json" },
	{ "get", "KEY", "print one value; a list is printed one item per line",
	  "json" },
	{ "set", "KEY VALUE", "change a setting", NULL },
	{ "unset", "KEY", "restore the default", NULL },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar config set output.quiet true", "runs print nothing" },
	{ "roar config set hash.run sha256,md5",
	  "computes two more digests of every file" },
	{ "roar config get tracer.default", NULL },
	{ 0 },
};

/* ---- values as text ---- */

/* What `get` prints: strings bare, items of a list each on a line. */
static void add_plain(struct str *out, const struct toml_value *v)
{
	if (v->type == TOML_BOOLEAN)
		str_adds(out, v->boolean ? "true" : "false");
	else if (v->type == TOML_STRING)
		str_adds(out, v->string);
	for (const struct toml_value *i = v->items; i; i = i->next)
		str_addf(out, "%s%s", i->string, i->next ? "\n" : "");
}

/* As it stands in the file. */
static int add_toml(struct str *out, const struct toml_value *v)
{
	int r = 0;

	if (v->type == TOML_BOOLEAN)
		str_adds(out, v->boolean ? "true" : "false");
	if (v->type == TOML_STRING)
		r = toml_add_string(out, v->string);
	if (v->type != TOML_ARRAY)
		return r;
	str_addc(out, '[');
	for (const struct toml_value *i = v->items; i && r == 0; i = i->next) {
		r = toml_add_string(out, i->string);
		if (i->next)
			str_adds(out, ", ");
	}
	str_addc(out, ']');
	return r;
}

static void add_json(struct json *j, const struct toml_value *v)
{
	if (v->type == TOML_BOOLEAN) {
		json_put_bool(j, v->boolean);
	} else if (v->type == TOML_STRING) {
		json_put_string(j, v->string);
	} else {
		json_put_array(j);
		for (const struct toml_value *i = v->items; i; i = i->next)
			json_put_string(j, i->string);
		json_end(j);
	}
}

/* ---- keys ---- */

/* The key, or NULL when the sentence about it has been said. */
static const struct config_key *need_key(const struct args *args,
					 const char *name)
{
	CLEANUP(str_release) struct str shown = STR_INIT;
	const struct config_key *key = config_key_find(name);
	struct suggest s = suggest_for(name);

	if (key)
		return key;
	for (const struct config_key *k = config_keys; k->name; k++) {
		suggest_offer(&s, k->name);
		suggest_offer(&s, strchr(k->name, '.') + 1);
	}
	quote_printable_cut(&shown, name, 100);
	for (const struct config_key *k = config_keys; s.best && k->name; k++)
		if (!strcmp(strchr(k->name, '.') + 1, s.best))
			s.best = k->name;
	if (s.best)
		(void)cli_usage(args->command,
				"unknown setting '%s', did you mean '%s'?",
				str_cstr(&shown), s.best);
	else
		(void)cli_usage(
			args->command,
			"unknown setting '%s': 'roar config list' shows all "
			"settings",
			str_cstr(&shown));
	return NULL;
}

/* ---- list and get ---- */

struct row {
	const struct config_key *key;
	struct toml_value value;
	bool is_default;
};

static void add_row(struct str *out, const struct term *t,
		    const struct row *row)
{
	CLEANUP(str_release) struct str value = STR_INIT;
	CLEANUP(str_release) struct str shown = STR_INIT;
	CLEANUP(str_release) struct str line = STR_INIT;

	(void)add_toml(&value, &row->value);
	quote_printable(&shown, str_cstr(&value), value.len);
	str_addf(&line, "%-37s %-12s", row->key->name, str_cstr(&shown));
	if (row->is_default) {
		str_adds(out, str_cstr(&line));
		term_add(out, t, COLOR_DIM, " default");
	} else {
		term_add(out, t, COLOR_BOLD, str_cstr(&line));
		str_adds(out, " set    ");
	}
	str_addf(out, "  %s", row->key->help);
	if (row->key->values)
		str_addf(out, " (%s)", row->key->values);
	str_addc(out, '\n');
}

static void add_json_row(struct json *j, const struct row *row)
{
	json_put_object(j);
	json_put_key(j, "key");
	json_put_string(j, row->key->name);
	json_put_key(j, "value");
	add_json(j, &row->value);
	json_put_key(j, "default");
	json_put_bool(j, row->is_default);
	json_put_key(j, "help");
	json_put_string(j, row->key->help);
	json_end(j);
}

/* What has no effect is kept, but its owner should know. */
static int warn(void *ctx, const struct config_mistake *m)
{
	(void)ctx;
	(void)cli_fail("%s", m->text);
	return 0;
}

static int list(const struct args *args, struct config_file *f)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct term t = term_of(STDOUT_FILENO);
	struct json j = json_writer(&out, true);
	bool as_json = args_has(args, "json");

	if (as_json)
		json_put_array(&j);
	for (const struct config_key *k = config_keys; k->name; k++) {
		struct row row = { .key = k };

		if (config_file_value(f, k, &row.value, &row.is_default) < 0)
			return cli_fail("no memory for the settings");
		if (as_json)
			add_json_row(&j, &row);
		else
			add_row(&out, &t, &row);
	}
	if (as_json) {
		json_end(&j);
		str_addc(&out, '\n');
	}
	(void)config_file_check(f, warn, NULL);
	return cli_print(&out);
}

static int get(const struct args *args, struct config_file *f,
	       const struct config_key *key)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct json j = json_writer(&out, false);
	struct roar_error err = { 0 };
	struct toml_value value;
	bool is_default;

	if (config_file_get(f, key, &value, &is_default, &err) < 0)
		return cli_fail("%s", err.text);
	if (args_has(args, "json"))
		add_json(&j, &value);
	else
		add_plain(&out, &value);
	if (out.len)
		str_addc(&out, '\n');
	return cli_print(&out);
}

/* ---- set ---- */

static const char *as_bool(const char *text)
{
	static const char *const yes[] = { "true", "yes", "on", "1" };
	static const char *const no[] = { "false", "no", "off", "0" };

	for (size_t i = 0; i < 4; i++) {
		if (!strcasecmp(text, yes[i]))
			return "true";
		if (!strcasecmp(text, no[i]))
			return "false";
	}
	return NULL;
}

/* "a, b" as the items of an array; blanks around them are no part. */
static int add_items(struct str *out, const char *text)
{
	int r = 0;

	str_addc(out, '[');
	while (*text && r == 0) {
		CLEANUP(str_release) struct str item = STR_INIT;
		size_t n;

		text += strspn(text, ", ");
		n = strcspn(text, ",");
		str_add(&item, text, n);
		while (item.len && item.data[item.len - 1] == ' ')
			item.data[--item.len] = '\0';
		if (item.len) {
			str_adds(out,
				 out->data[out->len - 1] == '[' ? "" : ", ");
			r = toml_add_string(out, str_cstr(&item));
		}
		text += n;
	}
	str_addc(out, ']');
	return r;
}

/* What was typed, as TOML.  A list may be typed as TOML itself. */
static int type_value(const struct config_key *key, const char *text,
		      struct str *out, struct roar_error *err)
{
	CLEANUP(str_release) struct str shown = STR_INIT;
	const char *word = as_bool(text);
	int r = 0;

	quote_printable_cut(&shown, text, 100);
	if (key->type == CONFIG_BOOL && !word)
		return error_set(err, -EINVAL,
				 "%s takes true or false, not '%s'", key->name,
				 str_cstr(&shown));
	if (key->type == CONFIG_BOOL)
		str_adds(out, word);
	else if (key->type == CONFIG_WORD || key->type == CONFIG_SIZE)
		r = toml_add_string(out, text);
	else if (text[0] == '[')
		str_adds(out, text);
	else
		r = add_items(out, text);
	if (r == -EILSEQ)
		return error_set(
			err, r,
			"'%s' is not valid UTF-8 and cannot be stored in "
			"config.toml",
			str_cstr(&shown));
	return r < 0 ? r : str_error(out);
}

/* Parses what was typed and checks it; the clean form replaces it. */
static int check_value(const struct config_key *key, struct str *value,
		       struct roar_error *err)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(str_release) struct str line = STR_INIT;
	struct roar_error why = { 0 };
	struct toml doc;
	int r;

	str_addf(&line, "value = %s\n", str_cstr(value));
	r = toml_parse(str_cstr(&line), line.len, "value", &pool, &doc, &why);
	if (r < 0 || doc.n_entries != 1)
		return error_set(
			err, -EINVAL,
			"%s takes a list like a,b or [\"a\", \"b\"], not "
			"'%.200s'",
			key->name, str_cstr(value));
	r = config_check(key, &doc.entries->value, err);
	if (r < 0)
		return r;
	str_clear(value);
	return add_toml(value, &doc.entries->value);
}

static int set(const struct args *args, const char *dir,
	       const struct config_key *key, const char *text)
{
	CLEANUP(str_release) struct str value = STR_INIT;
	CLEANUP(str_release) struct str out = STR_INIT;
	struct roar_error err = { .text = "no memory for the setting" };
	int r;

	r = type_value(key, text, &value, &err);
	if (r == 0)
		r = check_value(key, &value, &err);
	if (r == -EINVAL || r == -EILSEQ)
		return cli_usage(args->command, "%s", err.text);
	if (r < 0)
		return cli_fail("%s", err.text);
	if (config_file_set(dir, key->name, str_cstr(&value), &err) < 0)
		return cli_fail("%s", err.text);
	str_addf(&out, "Set %s = ", key->name);
	quote_printable(&out, value.data, value.len);
	str_addc(&out, '\n');
	return cli_print(&out);
}

static int unset(const char *dir, const struct config_key *key)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct roar_error err = { .text = "no memory for the setting" };

	if (config_file_set(dir, key->name, NULL, &err) < 0)
		return cli_fail("%s", err.text);
	str_addf(&out, "Restored %s = %s, the default\n", key->name,
		 key->fallback);
	return cli_print(&out);
}

/* ---- the command ---- */

static int read_verb(const struct args *args, const char *dir,
		     const struct config_key *key)
{
	CLEANUP(config_file_release) struct config_file f = { 0 };
	struct roar_error err = { .text = "no memory for the settings" };

	if (config_file_read(dir, &f, &err) < 0)
		return cli_fail("%s", err.text);
	return key ? get(args, &f, key) : list(args, &f);
}

static int run(const struct args *args)
{
	CLEANUP(project_release) struct project p = { .dirfd = -1 };
	const char *verb = args->n_operands ? args->operands[0] : "list";
	const struct config_key *key = NULL;
	struct roar_error err = { 0 };

	if (strcmp(verb, "list") != 0) {
		key = need_key(args, args->operands[1]);
		if (!key)
			return EXIT_USAGE;
	}
	if (project_open(PROJECT_NO_CONFIG, &p, NULL, &err) < 0)
		return cli_fail("%s", err.text);
	if (!strcmp(verb, "set"))
		return set(args, p.dir, key, args->operands[2]);
	if (!strcmp(verb, "unset"))
		return unset(p.dir, key);
	return read_verb(args, p.dir, key);
}

const struct command cmd_config = {
	.name = "config",
	.group = GROUP_SETUP,
	.summary = "show and change settings",
	.synopsis = "[list | get KEY | set KEY VALUE | unset KEY] [--json]",
	.about =
#include "config.txt.inc"
		,
	.options = options,
	.verbs = verbs,
	.examples = examples,
	.operand = OPERAND_NONE,
	.max_operands = 0,
	.run = run,
};
