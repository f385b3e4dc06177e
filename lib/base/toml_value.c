/* toml_value.c - what stands behind '='. */
#include "base/toml_internal.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pool.h"
#include "base/str.h"
#include "base/toml_number.h"

/* ---- values ---- */

static int parse_array(struct toml_parser *p, struct toml_value *ret)
{
	struct toml_value **last = &ret->items;
	int r;

	p->pos++;
	ret->type = TOML_ARRAY;
	for (;;) {
		struct toml_value *item;

		r = toml_skip_space(p);
		if (r < 0)
			return r;
		if (toml_take(p, "]"))
			return 0;
		if (ret->n_items && !last)
			return toml_fail(p, "an array needs ',' or ']' here");
		item = pool_zalloc(p->pool, sizeof(*item));
		if (!item)
			return -ENOMEM;
		r = toml_parse_value(p, item);
		if (r == 0)
			r = toml_skip_space(p);
		if (r < 0)
			return r;
		*last = item;
		last = NULL;
		ret->n_items++;
		if (toml_peek(p) == ',') {
			item->comma = p->pos++;
			last = &item->next;
		}
	}
}

/* { key = value, ... } is checked for shape only. */
static int parse_inline_table(struct toml_parser *p)
{
	int r;

	p->pos++;
	toml_skip_blanks(p);
	if (toml_take(p, "}"))
		return 0;
	for (;;) {
		CLEANUP(str_release) struct str name = STR_INIT;
		struct toml_value value = { 0 };

		do {
			toml_skip_blanks(p);
			r = toml_parse_key_part(p, &name);
			if (r < 0)
				return r;
			toml_skip_blanks(p);
		} while (toml_take(p, "."));
		if (!toml_take(p, "="))
			return toml_fail(p, "an inline table needs '=' here");
		toml_skip_blanks(p);
		r = toml_parse_value(p, &value);
		if (r < 0)
			return r;
		toml_skip_blanks(p);
		if (toml_take(p, "}"))
			return 0;
		if (!toml_take(p, ","))
			return toml_fail(
				p, "an inline table needs ',' or '}' here");
	}
}

/* Numbers, dates, true and false: what stands up to the next delimiter. */
static int parse_word(struct toml_parser *p, struct toml_value *ret)
{
	size_t start = p->pos;
	const char *word = p->text + start;
	size_t n = toml_word_length(word, p->len - start);
	int r;

	p->pos += n;
	if (n == 4 && !memcmp(word, "true", 4)) {
		ret->type = TOML_BOOLEAN;
		ret->boolean = true;
		return 0;
	}
	if (n == 5 && !memcmp(word, "false", 5)) {
		ret->type = TOML_BOOLEAN;
		return 0;
	}
	r = toml_parse_integer(word, n, &ret->integer);
	if (r == -ERANGE)
		return toml_fail(p, "a number is too large for 64 bits");
	ret->type = r == 0 ? TOML_INTEGER : TOML_OTHER;
	if (r == 0 || toml_is_float(word, n) || toml_is_date(word, n))
		return 0;
	return toml_fail(p,
			 "a value is missing or unknown (text needs quotes)");
}

static int parse_by_first(struct toml_parser *p, struct toml_value *ret)
{
	switch (toml_peek(p)) {
	case '"':
	case '\'':
		ret->type = TOML_STRING;
		return toml_parse_string(p, true, &ret->string);
	case '[':
		return parse_array(p, ret);
	case '{':
		ret->type = TOML_OTHER;
		return parse_inline_table(p);
	default:
		return parse_word(p, ret);
	}
}

int toml_parse_value(struct toml_parser *p, struct toml_value *ret)
{
	int r;

	if (p->depth == TOML_DEPTH_MAX)
		return toml_fail(p, "values are nested more than %d deep",
				 TOML_DEPTH_MAX);
	p->depth++;
	ret->line = p->line;
	ret->start = p->pos;
	r = parse_by_first(p, ret);
	ret->end = p->pos;
	p->depth--;
	return r;
}
