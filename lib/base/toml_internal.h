/* toml_internal.h - the parser of toml.h, shared by its files. */
#ifndef ROAR_BASE_TOML_INTERNAL_H
#define ROAR_BASE_TOML_INTERNAL_H

#include "base/map.h"
#include "base/toml.h"

struct toml_parser {
	const char *text;
	size_t len;
	size_t pos; /* the place */
	int line; /* of the place, 1-based */
	int depth; /* of values inside each other */
	const char *file; /* for sentences */
	struct pool *pool;
	struct map names; /* full name -> struct name of toml.c */
	struct toml *doc;
	struct toml_entry **last_entry; /* where the next one is linked */
	struct toml_table *table; /* the one being filled */
	struct roar_error *err;
};

/* Sets the sentence, with file and line, and returns -EINVAL. */
int toml_fail(struct toml_parser *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The character at the place, -1 at the end. */
int toml_peek(const struct toml_parser *p);
bool toml_starts_with(const struct toml_parser *p, const char *word);

/* Steps over the word, or the newline, if it is there. */
bool toml_take(struct toml_parser *p, const char *word);
bool toml_take_newline(struct toml_parser *p);

void toml_skip_blanks(struct toml_parser *p);
int toml_skip_comment(struct toml_parser *p);

/* Steps over blanks, comments and newlines, as allowed inside of arrays. */
int toml_skip_space(struct toml_parser *p);

/* What may follow a key and value or a header: nothing but a comment. */
int toml_end_line(struct toml_parser *p);

/* A string in quotes, decoded, in the pool. */
int toml_parse_string(struct toml_parser *p, bool multi_line, const char **ret);

/* Appends one part of a key to the name, in quotes unless it is bare. */
int toml_parse_key_part(struct toml_parser *p, struct str *name);

int toml_parse_value(struct toml_parser *p, struct toml_value *ret);

#endif
