/* fuzz_toml.c - any bytes as a settings file, read and edited.
 *
 * What parses must still parse after each kind of edit, and hold what was put
 * in. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pool.h"
#include "base/str.h"
#include "base/toml.h"
#include "base/toml_edit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool promise)
{
	if (!promise)
		abort();
}

static void parse(const struct str *text, struct pool *pool, struct toml *ret)
{
	struct roar_error err = { 0 };

	require(toml_parse(str_cstr(text), text->len, "edited", pool, ret,
			   &err) == 0);
}

static void try_set(const char *text, size_t len, const struct toml *doc)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(str_release) struct str out = STR_INIT;
	struct roar_error err = { 0 };
	const struct toml_entry *e;
	struct toml edited;

	if (toml_set(text, len, doc, "t", "a", "\"new\"", &out, &err) < 0)
		return;
	parse(&out, &pool, &edited);
	e = toml_find(&edited, "t.a");
	require(e && e->value.type == TOML_STRING);
	require(!strcmp(e->value.string, "new"));
	require(edited.n_entries ==
		doc->n_entries + (toml_find(doc, "t.a") == NULL));
}

static void try_unset(const char *text, size_t len, const struct toml *doc)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	CLEANUP(str_release) struct str out = STR_INIT;
	struct toml edited;
	int r = toml_unset(text, len, doc, "t", "a", &out);

	require(r >= 0);
	parse(&out, &pool, &edited);
	require(!toml_find(&edited, "t.a"));
	require(edited.n_entries + (size_t)r == doc->n_entries);
}

static void try_items(const char *text, size_t len, const struct toml *doc)
{
	const struct toml_entry *e = toml_find(doc, "t.a");

	if (!e || e->value.type != TOML_ARRAY)
		return;
	for (size_t i = 0; i <= e->value.n_items && i < 8; i++) {
		CLEANUP(pool_release) struct pool pool = POOL_INIT;
		CLEANUP(str_release) struct str out = STR_INIT;
		bool adding = i == e->value.n_items;
		size_t expected = e->value.n_items + (adding ? 1 : -1);
		struct toml edited;

		if (adding)
			require(toml_array_add(text, len, doc, "t", "a", "9",
					       &out) == 0);
		else
			require(toml_array_remove(text, len, doc, "t", "a", i,
						  &out) == 0);
		parse(&out, &pool, &edited);
		require(toml_find(&edited, "t.a")->value.n_items == expected);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	CLEANUP(pool_release) struct pool pool = POOL_INIT;
	const char *text = (const char *)data;
	struct roar_error err = { 0 };
	struct toml doc;

	if (toml_parse(text, len, "input", &pool, &doc, &err) < 0) {
		require(err.text[0] != '\0');
		return 0;
	}
	try_set(text, len, &doc);
	try_unset(text, len, &doc);
	try_items(text, len, &doc);
	return 0;
}
