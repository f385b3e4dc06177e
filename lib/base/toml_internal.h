/* toml_internal.h - the parser of toml.h, shared by its files. */
#ifndef ROAR_BASE_TOML_INTERNAL_H
#define ROAR_BASE_TOML_INTERNAL_H

#include "base/map.h"
#include "base/toml.h"

struct toml_parser {
	const char *text;
	size_t len;
	size_t pos; /* current position */
	int line; /* of the position, 1-based */
	int depth; /* of nested values */
	const char *file; /* for messages */
	struct pool *pool;
	struct map names; /* full name -> struct name of toml.c */
	struct toml *doc;
	struct toml_entry **last_entry; /* where the next one is linked */
	struct toml_table *table; /* the current one */
	struct roar_error *err;
};

/* Sets the error message, with file and line, and returns -EINVAL. */
int toml_fail(struct toml_parser *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The character at the position; -1 at the end. */
int toml_peek(const struct toml_parser *p);
bool toml_starts_with(const struct toml_parser *p, const char *word);

/* Skips the word, or the newline, if it is next. */
bool toml_take(struct toml_parser *p, const char *word);
bool toml_take_newline(struct toml_parser *p);

void toml_skip_blanks(struct toml_parser *p);
int toml_skip_comment(struct toml_parser *p);

/* Skips blanks, comments and newlines, as allowed inside arrays. */
int toml_skip_space(struct toml_parser *p);

/* Checks that only a comment follows on the line. */
int toml_end_line(struct toml_parser *p);

/* A string in quotes, decoded, in the pool. */
int toml_parse_string(struct toml_parser *p, bool multi_line, const char **ret);

/* Appends one part of a key to the name, in quotes unless it is bare. */
int toml_parse_key_part(struct toml_parser *p, struct str *name);

int toml_parse_value(struct toml_parser *p, struct toml_value *ret);

#endif
