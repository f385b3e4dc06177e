/* config_check.c - what in a settings file has no effect, and why.
 *
 * Whoever mistyped a key would otherwise believe in it.  Tables that are neither
 * ours nor look like a mistyped one of ours may belong to other programs. */
#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/quote.h"
#include "cli/suggest.h"
#include "project/config_file.h"

struct check {
	const struct config_file *file;
	config_tell tell;
	void *ctx;
};

static size_t table_length(const char *key)
{
	return strcspn(key, ".");
}

/* Offers each of our tables; true when `name` (of `len` bytes) is one. */
static bool is_own_table(const char *name, size_t len)
{
	if (len == 3 && !memcmp(name, "env", 3))
		return true;
	for (const struct config_key *k = config_keys; k->name; k++)
		if (table_length(k->name) == len && !memcmp(k->name, name, len))
			return true;
	return false;
}

static int tell(const struct check *c, const char *key, int line, bool foreign,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));

static int tell(const struct check *c, const char *key, int line, bool foreign,
		const char *fmt, ...)
{
	CLEANUP(str_release) struct str text = STR_INIT;
	struct config_mistake m = { .key = key, .foreign = foreign };
	va_list ap;

	str_addf(&text, "'%s' line %d: ", str_cstr(&c->file->path), line);
	va_start(ap, fmt);
	str_addv(&text, fmt, ap);
	va_end(ap);
	m.text = str_cstr(&text);
	return str_error(&text) < 0 ? str_error(&text) : c->tell(c->ctx, &m);
}

/* ---- keys nobody reads ---- */

/* The table that was probably meant, NULL when none is near. */
static const char *nearest_table(const char *key, struct str *buffer)
{
	CLEANUP(str_release) struct str typed = STR_INIT;
	struct suggest s;

	str_add(&typed, key, table_length(key));
	s = suggest_for(str_cstr(&typed));
	suggest_offer(&s, "env");
	for (const struct config_key *k = config_keys; k->name; k++) {
		CLEANUP(str_release) struct str table = STR_INIT;
		const char *before = s.best;

		str_add(&table, k->name, table_length(k->name));
		suggest_offer(&s, str_cstr(&table));
		if (s.best == before)
			continue;
		str_clear(buffer);
		str_adds(buffer, str_cstr(&table));
		s.best = str_cstr(buffer);
	}
	return s.best;
}

static int tell_unknown(const struct check *c, const struct toml_entry *e)
{
	CLEANUP(str_release) struct str shown = STR_INIT;
	CLEANUP(str_release) struct str table = STR_INIT;
	struct suggest s = suggest_for(e->key);
	bool own = is_own_table(e->key, table_length(e->key));
	const char *near = own ? NULL : nearest_table(e->key, &table);

	quote_printable_cut(&shown, e->key, 100);
	for (const struct config_key *k = config_keys; k->name; k++)
		suggest_offer(&s, k->name);
	if (s.best)
		return tell(
			c, s.best, e->value.line, false,
			"'%s' is not a setting of roar and has no effect, did you "
			"mean '%s'?",
			str_cstr(&shown), s.best);
	if (near)
		return tell(
			c, near, e->value.line, false,
			"'%s' is not a setting of roar and has no effect, did you "
			"mean the table [%s]?",
			str_cstr(&shown), near);
	return tell(c, e->key, e->value.line, !own,
		    "'%s' is not a setting of roar and has no effect",
		    str_cstr(&shown));
}

/* ---- entries ---- */

static int check_variable(const struct check *c, const struct toml_entry *e)
{
	const char *name = config_env_name(e);

	if (!config_is_env_name(name))
		return tell(
			c, e->key, e->value.line, false,
			"[env] has a name that is not valid for a variable: use "
			"letters, digits and '_'");
	if (e->value.type != TOML_STRING)
		return tell(c, e->key, e->value.line, false,
			    "%s in [env] takes a string, not a value of type %s",
			    name, toml_type_name(e->value.type));
	return 0;
}

static int check_entry(const struct check *c, const struct toml_entry *e)
{
	const struct config_key *key = config_key_find(e->key);
	struct roar_error why = { 0 };

	if (config_env_name(e))
		return check_variable(c, e);
	if (key && config_check(key, &e->value, &why) < 0)
		return tell(c, e->key, e->value.line, false, "%s", why.text);
	if (key)
		return 0;
	if (is_own_table(e->key, strlen(e->key)))
		return tell(c, e->key, e->value.line, false,
			    "%s has to be the table [%s]", e->key, e->key);
	return tell_unknown(c, e);
}

/* [[env]]: an array of tables where one table is meant. */
static int check_table(const struct check *c, const struct toml_table *t)
{
	if (!t->skipped || !is_own_table(t->name, strlen(t->name)))
		return 0;
	return tell(c, t->name, t->line - 1, false,
		    "[[%s]] has to be the table [%s]", t->name, t->name);
}

int config_file_check(const struct config_file *f, config_tell tell_of,
		      void *ctx)
{
	struct check c = { .file = f, .tell = tell_of, .ctx = ctx };
	int r = 0;

	for (const struct toml_entry *e = f->doc.entries; e && r == 0;
	     e = e->next)
		r = check_entry(&c, e);
	for (const struct toml_table *t = f->doc.tables; t && r == 0;
	     t = t->next)
		r = check_table(&c, t);
	return r;
}
