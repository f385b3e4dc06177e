/* toml.c - see toml.h
 *
 * A recursive-descent parser over one buffer.  `struct toml_parser` holds the
 * place; each function that parses starts at its construct and leaves the place
 * behind it.  Here are keys, headers and lines; toml_value.c and toml_lex.c have
 * the rest.
 *
 * `names` knows what each full name was used for, which is what TOML's rules
 * about defining things twice are about. */
#include "base/toml.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/quote.h"
#include "base/str.h"
#include "base/toml_internal.h"
#include "base/utf8.h"

/* What a full name was used for. */
enum name_use {
	NAME_UNUSED,
	NAME_VALUE, /* key = value */
	NAME_PARENT, /* [name.child] came first; [name] may still come */
	NAME_HEADER, /* [name] */
	NAME_DOTTED, /* name.child = value */
	NAME_ARRAY, /* [[name]] */
};

/* A name and its use, as the map keeps it. */
struct name {
	enum name_use use;
	const struct toml_table *owner; /* DOTTED: the header it stands below */
};

/* ---- keys ---- */

static bool is_bare(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool toml_is_bare(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!is_bare((unsigned char)text[i]))
			return false;
	return len > 0;
}

/* Appends one part of a key to the name, in quotes unless it is bare. */
int toml_parse_key_part(struct toml_parser *p, struct str *name)
{
	const char *quoted;
	size_t start = p->pos;
	int r;

	if (toml_peek(p) == '"' || toml_peek(p) == '\'') {
		r = toml_parse_string(p, false, &quoted);
		if (r < 0)
			return r;
		if (toml_is_bare(quoted, strlen(quoted))) {
			str_adds(name, quoted);
			return 0;
		}
		return toml_add_string(name, quoted);
	}
	while (is_bare(toml_peek(p)))
		p->pos++;
	if (p->pos == start)
		return toml_fail(
			p, "a key is missing (letters, digits, '_' and '-', "
			   "or a name in quotes)");
	str_add(name, p->text + start, p->pos - start);
	return 0;
}

static int use_name(struct toml_parser *p, const struct str *name,
		    enum name_use use)
{
	struct name *entry = pool_zalloc(p->pool, sizeof(*entry));
	char *key = pool_dup(p->pool, str_cstr(name), name->len);

	if (!entry || !key)
		return -ENOMEM;
	entry->use = use;
	entry->owner = p->table;
	return map_set(&p->names, key, name->len, entry);
}

static const struct name *find_name(const struct toml_parser *p,
				    const struct str *name)
{
	static const struct name unused;
	const struct name *found;

	found = map_get(&p->names, str_cstr(name), name->len);
	return found ? found : &unused;
}

static int fail_twice(struct toml_parser *p, const struct str *name)
{
	CLEANUP(str_release) struct str shown = STR_INIT;

	quote_printable(&shown, str_cstr(name), name->len);
	return toml_fail(p, "'%.200s' is defined a second time",
			 str_cstr(&shown));
}

/* A part of a dotted key that is not the last one names a table. */
static int pass_dotted(struct toml_parser *p, const struct str *name)
{
	const struct name *n = find_name(p, name);

	if (n->use == NAME_UNUSED)
		return use_name(p, name, NAME_DOTTED);
	if (n->use == NAME_DOTTED && n->owner == p->table)
		return 0;
	return fail_twice(p, name);
}

/* A part of a header that is not the last one. */
static int pass_parent(struct toml_parser *p, const struct str *name,
		       bool *ret_skipped)
{
	const struct name *n = find_name(p, name);

	if (n->use == NAME_UNUSED)
		return use_name(p, name, NAME_PARENT);
	if (n->use == NAME_VALUE)
		return fail_twice(p, name);
	if (n->use == NAME_ARRAY)
		*ret_skipped = true;
	return 0;
}

/* ---- lines ---- */

/* The key up to '=', as full name; every part is checked and entered. */
static int parse_key(struct toml_parser *p, struct str *name)
{
	int r;

	str_adds(name, p->table->name);
	for (;;) {
		if (name->len)
			str_addc(name, '.');
		r = toml_parse_key_part(p, name);
		if (r < 0)
			return r;
		toml_skip_blanks(p);
		if (!toml_take(p, "."))
			break;
		toml_skip_blanks(p);
		r = p->table->skipped ? 0 : pass_dotted(p, name);
		if (r < 0)
			return r;
	}
	r = str_error(name);
	if (r < 0 || p->table->skipped)
		return r;
	if (find_name(p, name)->use != NAME_UNUSED)
		return fail_twice(p, name);
	return use_name(p, name, NAME_VALUE);
}

static int keep_entry(struct toml_parser *p, const struct str *name,
		      const struct toml_value *value, size_t line_start)
{
	struct toml_entry *entry = pool_zalloc(p->pool, sizeof(*entry));

	if (!entry)
		return -ENOMEM;
	entry->key = pool_dup(p->pool, str_cstr(name), name->len);
	if (!entry->key)
		return -ENOMEM;
	entry->table = p->table;
	entry->value = *value;
	entry->line_start = line_start;
	entry->line_end = p->pos;
	*p->last_entry = entry;
	p->last_entry = &entry->next;
	p->doc->n_entries++;
	return 0;
}

static int parse_entry(struct toml_parser *p, size_t line_start)
{
	CLEANUP(str_release) struct str name = STR_INIT;
	struct toml_value value = { 0 };
	int r;

	r = parse_key(p, &name);
	if (r < 0)
		return r;
	if (!toml_take(p, "="))
		return toml_fail(p, "a key needs '=' and a value");
	toml_skip_blanks(p);
	r = toml_parse_value(p, &value);
	if (r == 0)
		r = toml_end_line(p);
	if (r < 0 || p->table->skipped)
		return r;
	return keep_entry(p, &name, &value, line_start);
}

static int add_table(struct toml_parser *p, const char *name, bool skipped)
{
	struct toml_table *t = pool_zalloc(p->pool, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->name = name;
	t->start = p->pos;
	t->end = p->len;
	t->line = p->line;
	t->skipped = skipped;
	if (p->table)
		p->table->next = t;
	else
		p->doc->tables = t;
	p->table = t;
	return 0;
}

/* May [name] or [[name]] stand here?  Enters it. */
static int enter_header(struct toml_parser *p, const struct str *name,
			bool array, bool *ret_skipped)
{
	enum name_use use = find_name(p, name)->use;

	if (*ret_skipped)
		return 0;
	if (array && (use == NAME_UNUSED || use == NAME_ARRAY)) {
		*ret_skipped = true;
		return use_name(p, name, NAME_ARRAY);
	}
	if (array || (use != NAME_UNUSED && use != NAME_PARENT))
		return fail_twice(p, name);
	return use_name(p, name, NAME_HEADER);
}

static int parse_header(struct toml_parser *p, size_t line_start)
{
	CLEANUP(str_release) struct str name = STR_INIT;
	bool array = toml_starts_with(p, "[[");
	bool skipped = false;
	const char *kept;
	int r;

	p->table->end = line_start;
	p->pos += array ? 2 : 1;
	for (;;) {
		toml_skip_blanks(p);
		r = toml_parse_key_part(p, &name);
		if (r < 0)
			return r;
		toml_skip_blanks(p);
		if (!toml_take(p, "."))
			break;
		r = pass_parent(p, &name, &skipped);
		if (r < 0)
			return r;
		str_addc(&name, '.');
	}
	if (!toml_take(p, array ? "]]" : "]"))
		return toml_fail(p, "a table header needs '%s'",
				 array ? "]]" : "]");
	r = str_error(&name);
	if (r == 0)
		r = enter_header(p, &name, array, &skipped);
	if (r == 0)
		r = toml_end_line(p);
	if (r < 0)
		return r;
	kept = pool_dup(p->pool, name.data, name.len);
	return kept ? add_table(p, kept, skipped) : -ENOMEM;
}

/* TOML is UTF-8; the byte that is none is reported with its line. */
static int check_utf8(struct toml_parser *p)
{
	for (size_t i = 0; i < p->len;) {
		size_t n = utf8_length(p->text + i, p->len - i);

		if (!n)
			return toml_fail(p, "byte 0x%02x is not valid UTF-8",
					 (unsigned char)p->text[i]);
		if (p->text[i] == '\n')
			p->line++;
		i += n;
	}
	p->line = 1;
	return 0;
}

static int parse_lines(struct toml_parser *p)
{
	int r = 0;

	(void)toml_take(p, "\xef\xbb\xbf"); /* a byte order mark says nothing */
	r = add_table(p, "", false);
	while (r == 0 && p->pos < p->len) {
		size_t line_start = p->pos;
		int c;

		toml_skip_blanks(p);
		c = toml_peek(p);
		if (c < 0 || c == '#' || toml_starts_with(p, "\n") ||
		    toml_starts_with(p, "\r\n"))
			r = toml_end_line(p);
		else if (c == '[')
			r = parse_header(p, line_start);
		else
			r = parse_entry(p, line_start);
	}
	return r;
}

int toml_parse(const char *text, size_t len, const char *name,
	       struct pool *pool, struct toml *ret, struct roar_error *err)
{
	CLEANUP(str_release) struct str shown = STR_INIT;
	struct toml doc = { 0 };
	struct toml_parser p = {
		.text = text,
		.len = len,
		.line = 1,
		.pool = pool,
		.doc = &doc,
		.last_entry = &doc.entries,
		.err = err,
	};
	int r;

	quote_printable(&shown, name, strlen(name));
	p.file = str_cstr(&shown);
	if (len > TOML_SIZE_MAX)
		return error_set(err, -EFBIG, "'%s' is larger than %d bytes",
				 p.file, TOML_SIZE_MAX);
	r = check_utf8(&p);
	if (r == 0)
		r = parse_lines(&p);
	map_release(&p.names);
	if (r == -ENOMEM)
		return error_set(err, r, "out of memory");
	if (r == 0)
		*ret = doc;
	return r;
}

/* ---- what callers do with it ---- */

const struct toml_entry *toml_find(const struct toml *doc, const char *key)
{
	for (const struct toml_entry *e = doc->entries; e; e = e->next)
		if (!strcmp(e->key, key))
			return e;
	return NULL;
}

const char *toml_type_name(enum toml_type type)
{
	static const char *const names[] = {
		[TOML_STRING] = "string",
		[TOML_INTEGER] = "integer",
		[TOML_BOOLEAN] = "boolean",
		[TOML_ARRAY] = "array",
		[TOML_OTHER] = "float, date or inline table",
	};

	assert(type <= TOML_OTHER);
	return names[type];
}
