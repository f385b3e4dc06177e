/* toml.h - a reader for the settings file.
 *
 * TOML 1.0 as far as settings need it: tables, bare, quoted and dotted keys, all four kinds
 * of strings, integers, booleans and arrays.  Floats, dates, inline tables and arrays of
 * tables are checked for their form and kept as TOML_OTHER or skipped, so that a file may
 * have them for other programs.  Duplicate keys and tables, invalid UTF-8 and control
 * characters are refused with a message that has the line number.
 *
 * Every value has its position in the text, so that a change edits only those bytes
 * (toml_edit.h): comments and unknown keys stay.
 *
 * The name of a key is its parts joined with dots ("filters.ignore_paths"); a part that is
 * not a bare key is quoted, as in TOML. */
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
	TOML_OTHER, /* float, date, inline table: valid, but not decoded */
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
	/* Item of an array: offset of the comma after it; 0: none. */
	size_t comma;
	int line; /* 1-based, where it starts */
};

struct toml_entry {
	const char *key; /* full name, "filters.ignore_paths" */
	const struct toml_table *table; /* its table */
	struct toml_value value;
	struct toml_entry *next; /* in the order of the file */
	size_t line_start, line_end; /* whole lines, with the last newline */
};

/* One [header]; the first one is the part of the file before any header. */
struct toml_table {
	const char *name; /* "" for the first */
	struct toml_table *next;
	size_t start; /* first byte after the header's line */
	size_t end; /* start of the next header's line, or end of the file */
	int line;
	bool skipped; /* [[array of tables]] or below one: entries not kept */
};

struct toml {
	struct toml_entry *entries;
	struct toml_table *tables;
	size_t n_entries;
};

/* Parses `len` bytes; everything returned is in `pool`.  `name` is the file's name in
 * messages.  -EINVAL: wrong syntax; -EFBIG, -ENOMEM. */
int toml_parse(const char *text, size_t len, const char *name,
	       struct pool *pool, struct toml *ret, struct roar_error *err);

/* The entry of that full name, or NULL. */
const struct toml_entry *toml_find(const struct toml *doc, const char *key);

/* Is `text` usable as a key without quotes? */
bool toml_is_bare(const char *text, size_t len);

/* Appends `text` as a basic string, "..." with escapes.  -EILSEQ: not UTF-8, which TOML
 * requires. */
int toml_add_string(struct str *out, const char *text);

/* "string", "integer", ... for messages. */
const char *toml_type_name(enum toml_type type);

#endif
