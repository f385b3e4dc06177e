/* env.c - `roar env`: variables for every recorded command. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/quote.h"
#include "base/toml_edit.h"
#include "commands.h"
#include "lineage/redact.h"
#include "project/config_file.h"
#include "project/project.h"

static const char mask[] = "********";

static const struct option_spec options[] = {
	{ .name = "show", .help = "list secret values in clear text" },
	{ .name = "json", .help = "print JSON (list, get)" },
	{ 0 },
};

static const struct verb_spec verbs[] = {
	{ "list", "", "show all variables; values of secret names are masked",
	  "show json" },
	{ "get", "NAME", "print one value", "json" },
	{ "set", "NAME VALUE", "set a variable", NULL },
	{ "unset", "NAME", "remove a variable", NULL },
	{ 0 },
};

static const struct example examples[] = {
	{ "roar env set CUBLAS_WORKSPACE_CONFIG :4096:8",
	  "every later run has this variable" },
	{ "roar env set -- FLAGS -O2", "a value that starts with '-'" },
	{ "roar env unset FLAGS", NULL },
	{ 0 },
};

/* ---- reading ---- */

static const char *value_of(const struct toml_entry *e, bool masked)
{
	const char *name = config_env_name(e);

	if (e->value.type != TOML_STRING)
		return "";
	return masked && redact_is_secret_name(name, strlen(name)) ?
		       mask :
		       e->value.string;
}

static void add_json(struct str *out, const struct config_file *f, bool masked)
{
	struct json j = json_writer(out, true);

	json_put_object(&j);
	for (const struct toml_entry *e = f->doc.entries; e; e = e->next) {
		if (!config_env_name(e))
			continue;
		json_put_key(&j, config_env_name(e));
		json_put_string(&j, value_of(e, masked));
	}
	json_end(&j);
	str_addc(out, '\n');
}

static int list(const struct args *args, const struct config_file *f)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	bool masked = !args_has(args, "show");

	if (args_has(args, "json")) {
		add_json(&out, f, masked);
		return cli_print(&out);
	}
	for (const struct toml_entry *e = f->doc.entries; e; e = e->next) {
		const char *value;

		if (!config_env_name(e))
			continue;
		value = value_of(e, masked);
		quote_printable(&out, config_env_name(e),
				strlen(config_env_name(e)));
		str_addc(&out, '=');
		quote_printable(&out, value, strlen(value));
		str_addc(&out, '\n');
	}
	if (!out.len)
		str_adds(&out, "No variables are set.\n");
	return cli_print(&out);
}

static int fail_missing(const char *name)
{
	return cli_fail("variable '%s' is not set: 'roar env list' shows all "
			"variables",
			name);
}

static int get(const struct args *args, const struct config_file *f,
	       const char *name)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct json j = json_writer(&out, false);

	for (const struct toml_entry *e = f->doc.entries; e; e = e->next) {
		if (!config_env_name(e) ||
		    strcmp(config_env_name(e), name) != 0)
			continue;
		if (args_has(args, "json"))
			json_put_string(&j, value_of(e, false));
		else
			str_adds(&out, value_of(e, false));
		str_addc(&out, '\n');
		return cli_print(&out);
	}
	return fail_missing(name);
}

/* ---- changing ---- */

/* A value as TOML; NULL removes the variable. */
static int change(const char *dir, const char *name, const char *value,
		  struct roar_error *err)
{
	CLEANUP(str_release) struct str key = STR_INIT;
	int r;

	str_addf(&key, "env.%s", name);
	r = str_error(&key);
	return r < 0 ? r : config_file_set(dir, str_cstr(&key), value, err);
}

static int set(const char *dir, const char *name, const char *text)
{
	CLEANUP(str_release) struct str value = STR_INIT;
	CLEANUP(str_release) struct str out = STR_INIT;
	struct roar_error err = { .text = "no memory for the variable" };
	int r;

	r = toml_add_string(&value, text);
	if (r == -EILSEQ)
		return cli_fail(
			"the value of %s is not valid UTF-8 and cannot be stored in "
			"config.toml",
			name);
	if (r < 0 || change(dir, name, str_cstr(&value), &err) < 0)
		return cli_fail("%s", err.text);
	if (redact_is_secret_name(name, strlen(name)))
		text = mask;
	str_addf(&out, "Set %s=", name);
	quote_printable(&out, text, strlen(text));
	str_addc(&out, '\n');
	return cli_print(&out);
}

static int unset(const char *dir, const char *name)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	struct roar_error err = { .text = "no memory for the variable" };
	int r;

	r = change(dir, name, NULL, &err);
	if (r < 0)
		return cli_fail("%s", err.text);
	if (r == 0)
		return fail_missing(name);
	str_addf(&out, "Unset %s\n", name);
	return cli_print(&out);
}

/* ---- the command ---- */

static int read_verb(const struct args *args, const char *dir, const char *name)
{
	CLEANUP(config_file_release) struct config_file f = { 0 };
	struct roar_error err = { .text = "no memory for the settings" };

	if (config_file_read(dir, &f, &err) < 0)
		return cli_fail("%s", err.text);
	return name ? get(args, &f, name) : list(args, &f);
}

static int run(const struct args *args)
{
	CLEANUP(project_release) struct project p = { .dirfd = -1 };
	const char *verb = args->n_operands ? args->operands[0] : "list";
	const char *name = args->n_operands > 1 ? args->operands[1] : NULL;
	struct roar_error err = { 0 };

	if (name && !config_is_env_name(name))
		return cli_usage(
			args->command,
			"'%.100s' is not a valid name of a variable: use letters, "
			"digits and '_', and no digit first",
			name);
	if (project_open(PROJECT_NO_CONFIG, &p, NULL, &err) < 0)
		return cli_fail("%s", err.text);
	if (!strcmp(verb, "set"))
		return set(p.dir, name, args->operands[2]);
	if (!strcmp(verb, "unset"))
		return unset(p.dir, name);
	return read_verb(args, p.dir, name);
}

const struct command cmd_env = {
	.name = "env",
	.group = GROUP_SETUP,
	.summary = "set variables for every recorded command",
	.synopsis = "[list | get NAME | set NAME VALUE | unset NAME] "
		    "[--show] [--json]",
	.about =
#include "env.txt.inc"
		,
	.options = options,
	.verbs = verbs,
	.examples = examples,
	.operand = OPERAND_NONE,
	.max_operands = 0,
	.run = run,
};
