/* toml_edit.c - see toml_edit.h */
#include "base/toml_edit.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/toml.h"

/* ---- the text around a place ---- */

/* The line end the file uses: that of its first line. */
static const char *newline_of(const char *text, size_t len)
{
	const char *nl = memchr(text, '\n', len);

	return nl && nl > text && nl[-1] == '\r' ? "\r\n" : "\n";
}

static size_t line_start(const char *text, size_t pos)
{
	while (pos && text[pos - 1] != '\n')
		pos--;
	return pos;
}

/* Where the line's content ends: its newline, or the end of the text. */
static size_t line_end(const char *text, size_t len, size_t pos)
{
	const char *nl = memchr(text + pos, '\n', len - pos);
	size_t end = nl ? (size_t)(nl - text) : len;

	return nl && end > pos && text[end - 1] == '\r' ? end - 1 : end;
}

/* Behind the newline of the line. */
static size_t next_line(const char *text, size_t len, size_t pos)
{
	const char *nl = memchr(text + pos, '\n', len - pos);

	return nl ? (size_t)(nl - text) + 1 : len;
}

static size_t skip_blanks(const char *text, size_t len, size_t pos)
{
	while (pos < len && (text[pos] == ' ' || text[pos] == '\t'))
		pos++;
	return pos;
}

static void add_name(struct str *out, const char *table, const char *key)
{
	str_addf(out, "%s%s%s", table, *table ? "." : "", key);
}

static const struct toml_entry *find(const struct toml *doc, const char *table,
				     const char *key)
{
	CLEANUP(str_release) struct str name = STR_INIT;

	add_name(&name, table, key);
	return name.failed ? NULL : toml_find(doc, str_cstr(&name));
}

/* ---- set ---- */

/* Is this line "# key = ..."? */
static bool is_commented(const char *text, size_t len, size_t pos,
			 const char *key)
{
	size_t n = strlen(key);

	pos = skip_blanks(text, len, pos);
	if (pos == len || text[pos] != '#')
		return false;
	pos = skip_blanks(text, len, pos + 1);
	if (len - pos < n || memcmp(text + pos, key, n))
		return false;
	pos = skip_blanks(text, len, pos + n);
	return pos < len && text[pos] == '=';
}

/* A line that looks like a comment may be part of a longer value. */
static bool is_inside_entry(const struct toml *doc, size_t pos)
{
	for (const struct toml_entry *e = doc->entries; e; e = e->next)
		if (pos >= e->line_start && pos < e->line_end)
			return true;
	return false;
}

/* Where a new key of the table belongs: the start of a line. */
static size_t place_in(const char *text, const struct toml *doc,
		       const struct toml_table *table, const char *key)
{
	size_t place = table->start;

	for (size_t i = table->start; i < table->end;
	     i = next_line(text, table->end, i))
		if (is_commented(text, table->end, i, key) &&
		    !is_inside_entry(doc, i))
			return next_line(text, table->end, i);
	for (const struct toml_entry *e = doc->entries; e; e = e->next)
		if (e->table == table)
			place = e->line_end;
	return place;
}

static const struct toml_table *find_table(const struct toml *doc,
					   const char *name)
{
	for (const struct toml_table *t = doc->tables; t; t = t->next)
		if (!t->skipped && !strcmp(t->name, name))
			return t;
	return NULL;
}

/* Is `name` below `table` by its dots? */
static bool is_below(const char *name, const char *table)
{
	size_t n = strlen(table);

	return !strncmp(name, table, n) && name[n] == '.';
}

/* The last "table.other = ..." of a table that has no header of its own: a header
 * would define it a second time, so its new key is written dotted as well. */
static const struct toml_entry *find_dotted(const struct toml *doc,
					    const char *table)
{
	const struct toml_entry *found = NULL;

	for (const struct toml_entry *e = doc->entries; e; e = e->next)
		if (is_below(e->key, table) && !is_below(e->table->name, table))
			found = e;
	return found;
}

static bool is_at_or_below(const char *name, const char *table)
{
	return !strcmp(name, table) || is_below(name, table);
}

/* Can `table` have a key of the full name `name`?  Not where the file uses one
 * of the two for something else. */
static int check_names(const struct toml *doc, const char *table,
		       const char *name, struct roar_error *err)
{
	for (const struct toml_entry *e = doc->entries; e; e = e->next) {
		if (is_at_or_below(table, e->key))
			return error_set(err, -EINVAL,
					 "line %d gives '%s' a value: write it "
					 "as the table [%s] first",
					 e->value.line, e->key, e->key);
		if (is_below(e->key, name))
			return error_set(err, -EINVAL,
					 "line %d makes '%s' a table",
					 e->value.line, name);
	}
	for (const struct toml_table *t = doc->tables; t; t = t->next) {
		if (t->skipped && is_at_or_below(table, t->name))
			return error_set(
				err, -EINVAL,
				"line %d makes '%s' an array of tables: "
				"write it as the table [%s] first",
				t->line - 1, t->name, t->name);
		if (is_at_or_below(t->name, name))
			return error_set(err, -EINVAL,
					 "line %d makes '%s' a table",
					 t->line - 1, name);
	}
	return 0;
}

/* Copies the text with whole lines put in at `place`. */
static void insert_lines(struct str *out, const char *text, size_t len,
			 size_t place, const struct str *lines)
{
	str_add(out, text, place);
	if (place && text[place - 1] != '\n')
		str_adds(out, newline_of(text, len));
	str_add(out, str_cstr(lines), lines->len);
	str_add(out, text + place, len - place);
}

static void add_pair(struct str *out, const char *prefix, const char *key,
		     const char *value, const char *newline)
{
	str_addf(out, "%s%s%s = %s%s", prefix, *prefix ? "." : "", key, value,
		 newline);
}

/* The name of `table` as seen from below the header `from`. */
static const char *name_from(const char *table, const struct toml_table *from)
{
	return *from->name ? table + strlen(from->name) + 1 : table;
}

int toml_set(const char *text, size_t len, const struct toml *doc,
	     const char *table, const char *key, const char *value,
	     struct str *out, struct roar_error *err)
{
	CLEANUP(str_release) struct str lines = STR_INIT;
	CLEANUP(str_release) struct str name = STR_INIT;
	const char *newline = newline_of(text, len);
	const struct toml_entry *e = find(doc, table, key);
	const struct toml_table *t = find_table(doc, table);
	size_t place = len;
	int r;

	if (e) {
		str_add(out, text, e->value.start);
		str_adds(out, value);
		str_add(out, text + e->value.end, len - e->value.end);
		return str_error(out);
	}
	add_name(&name, table, key);
	r = check_names(doc, table, str_cstr(&name), err);
	if (r < 0)
		return r;
	e = t ? NULL : find_dotted(doc, table);
	if (t) {
		place = place_in(text, doc, t, key);
		add_pair(&lines, "", key, value, newline);
	} else if (e) {
		place = e->line_end;
		add_pair(&lines, name_from(table, e->table), key, value,
			 newline);
	} else {
		str_addf(&lines, "%s[%s]%s", len ? newline : "", table,
			 newline);
		add_pair(&lines, "", key, value, newline);
	}
	insert_lines(out, text, len, place, &lines);
	return lines.failed ? -ENOMEM : str_error(out);
}

int toml_unset(const char *text, size_t len, const struct toml *doc,
	       const char *table, const char *key, struct str *out)
{
	const struct toml_entry *e = find(doc, table, key);

	if (!e) {
		str_add(out, text, len);
		return str_error(out);
	}
	str_add(out, text, e->line_start);
	str_add(out, text + e->line_end, len - e->line_end);
	return out->failed ? -ENOMEM : 1;
}

/* ---- items of an array ---- */

static const struct toml_value *last_item(const struct toml_value *array)
{
	const struct toml_value *item = array->items;

	while (item && item->next)
		item = item->next;
	return item;
}

/* Does nothing but blanks stand before `pos` on its line? */
static bool is_first_on_line(const char *text, size_t pos)
{
	return skip_blanks(text, pos, line_start(text, pos)) == pos;
}

/* Does nothing but blanks or a comment follow on the line? */
static bool is_last_on_line(const char *text, size_t len, size_t pos)
{
	pos = skip_blanks(text, len, pos);
	return pos == len || text[pos] == '#' || text[pos] == '\n' ||
	       text[pos] == '\r';
}

/* Behind the item and its comma. */
static size_t item_end(const struct toml_value *item)
{
	return item->comma ? item->comma + 1 : item->end;
}

/* An item with a line of its own gets a line of its own behind it. */
static void add_line_item(struct str *out, const char *text, size_t len,
			  const struct toml_value *last, const char *item)
{
	size_t indent = line_start(text, last->start);
	size_t place = line_end(text, len, item_end(last));

	str_add(out, text, last->end);
	if (!last->comma)
		str_addc(out, ',');
	str_add(out, text + last->end, place - last->end);
	str_adds(out, newline_of(text, len));
	str_add(out, text + indent, last->start - indent);
	str_addf(out, "%s,", item);
	str_add(out, text + place, len - place);
}

int toml_array_add(const char *text, size_t len, const struct toml *doc,
		   const char *table, const char *key, const char *item,
		   struct str *out)
{
	const struct toml_entry *e = find(doc, table, key);
	const struct toml_value *last;
	size_t place;

	if (!e)
		return -ENOENT;
	assert(e->value.type == TOML_ARRAY);
	last = last_item(&e->value);
	if (last && is_first_on_line(text, last->start) &&
	    is_last_on_line(text, len, item_end(last))) {
		add_line_item(out, text, len, last, item);
		return str_error(out);
	}
	place = last ? last->end : e->value.start + 1;
	str_add(out, text, place);
	str_addf(out, "%s%s", last ? ", " : "", item);
	str_add(out, text + place, len - place);
	return str_error(out);
}

/* The bytes that go with an item: its whole lines when it has them for itself,
 * else the item with one of the commas beside it. */
static void item_span(const char *text, size_t len,
		      const struct toml_value *prev,
		      const struct toml_value *item, size_t *ret_start,
		      size_t *ret_end)
{
	bool comma_follows = item->comma &&
			     memchr(text + item->end, '\n',
				    item->comma - item->end) == NULL;

	*ret_start = item->start;
	*ret_end = item_end(item);
	if ((comma_follows || !item->comma) &&
	    is_first_on_line(text, item->start) &&
	    is_last_on_line(text, len, item_end(item))) {
		*ret_start = line_start(text, item->start);
		*ret_end = next_line(text, len, item_end(item));
	} else if (item->next) {
		*ret_end = item->next->start;
	} else if (prev) {
		*ret_start = prev->end;
		*ret_end = item->end;
	}
}

int toml_array_remove(const char *text, size_t len, const struct toml *doc,
		      const char *table, const char *key, size_t index,
		      struct str *out)
{
	const struct toml_entry *e = find(doc, table, key);
	const struct toml_value *prev = NULL;
	const struct toml_value *item;
	size_t start;
	size_t end;

	if (!e || index >= e->value.n_items)
		return -ENOENT;
	item = e->value.items;
	for (; index; index--) {
		prev = item;
		item = item->next;
	}
	item_span(text, len, prev, item, &start, &end);
	str_add(out, text, start);
	str_add(out, text + end, len - end);
	return str_error(out);
}
