/* toml.h - a reader for the settings file.
 *
 * TOML 1.0 as far as settings need it: tables, bare, quoted and dotted keys, all
 * four kinds of strings, integers, booleans and arrays.  Floats, dates, inline
 * tables and arrays of tables are checked for shape and kept as TOML_OTHER or
 * passed over, so a file may hold them for someone else.  What the language
 * forbids (a key or table given twice, bytes that are no UTF-8, control
 * characters) is refused with a sentence that has the line number.
 *
 * Every value remembers where it stands in the text, so that a change edits
 * those bytes and nothing else (toml_edit.h): comments and unknown keys stay.
 *
 * A key is named by its parts joined with dots ("filters.ignore_paths"); a part
 * that is no bare key is written in quotes, as TOML would. */
#ifndef ROAR_BASE_TOML_H
#define ROAR_BASE_TOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct pool;
struct str;

enum {
	TOML_SIZE_MAX = 1024 * 1024, /* bytes of a file */
	TOML_DEPTH_MAX = 32, /* arrays and inline tables inside each other */
};

enum toml_type {
	TOML_STRING,
	TOML_INTEGER,
	TOML_BOOLEAN,
	TOML_ARRAY,
	TOML_OTHER, /* float, date, inline table: sound, but not looked into */
};

struct toml_value {
	enum toml_type type;
	const char *string; /* STRING: decoded, without NUL inside */
	int64_t integer;
	bool boolean;
	struct toml_value *items; /* ARRAY: the first, linked by `next` */
	struct toml_value *next;
	size_t n_items;
	size_t start, end; /* bytes of the text it occupies */
	size_t comma; /* item of an array: the comma behind it; 0 none */
	int line; /* 1-based, where it starts */
};

struct toml_entry {
	const char *key; /* full name, "filters.ignore_paths" */
	const struct toml_table *table; /* the header it stands below */
	struct toml_value value;
	struct toml_entry *next; /* in the order of the file */
	size_t line_start, line_end; /* whole lines, with the last newline */
};

/* One [header]; the first one is the part of the file before any header. */
struct toml_table {
	const char *name; /* "" for the first */
	struct toml_table *next;
	size_t start; /* first byte below the header's line */
	size_t end; /* where the next header's line begins, or the file ends */
	int line;
	bool skipped; /* [[array of tables]] or below one: entries not kept */
};

struct toml {
	struct toml_entry *entries;
	struct toml_table *tables;
	size_t n_entries;
};

/* Parses `len` bytes; everything returned lives in `pool`.  `name` is how
 * sentences call the file.  -EINVAL on wrong syntax, -EFBIG, -ENOMEM. */
int toml_parse(const char *text, size_t len, const char *name,
	       struct pool *pool, struct toml *ret, struct roar_error *err);

/* The entry of that full name, or NULL. */
const struct toml_entry *toml_find(const struct toml *doc, const char *key);

/* Is `text` usable as a key without quotes? */
bool toml_is_bare(const char *text, size_t len);

/* Appends `text` as a basic string, "..." with escapes.  -EILSEQ when it is no
 * UTF-8: TOML cannot hold it. */
int toml_add_string(struct str *out, const char *text);

/* "string", "integer", ... for sentences. */
const char *toml_type_name(enum toml_type type);

#endif
