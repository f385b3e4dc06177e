/* redact_internal.h - the parts of redact.h among themselves. */
#ifndef ROAR_LINEAGE_REDACT_INTERNAL_H
#define ROAR_LINEAGE_REDACT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

/* A secret found at a place: `keep` bytes stay, `len - keep` go.  len 0: there is
 * none. */
struct redact_span {
	size_t keep;
	size_t len;
};

/* Looks for something that is secret by its own look at text[pos].  Called at
 * every place; decides most of them by one character. */
struct redact_span redact_token_at(const char *text, size_t len, size_t pos);

/* Options that are secret in some programs only (redact_program.c).  A scan is told
 * the words of one command line, or goes over a text by itself. */
struct redact_option;
struct redact_program;

struct redact_scan {
	enum redact_state {
		REDACT_COMMAND,
		REDACT_WRAPPED,
		REDACT_CONTAINER,
		REDACT_ARGUMENTS,
	} state,
		outer_state; /* around the quotes */
	const struct redact_program *program; /* whose words these are, or NULL */
	const struct redact_program *outer_program;
	const struct redact_option *expected; /* the next word is its value */
	const char *text;
	size_t len;
	size_t pos;
	char quote; /* the words stand in these; 0: in none */
	bool dollar; /* ... which are $'...' */
	bool apart; /* ... and are a command line of their own */
};

/* Takes the next word.  True when it ends in a secret, behind *ret_keep bytes. */
bool redact_scan_word(struct redact_scan *scan, const char *word, size_t len,
		      size_t *ret_keep);

/* The next secret of scan->text; false when there is none any more. */
bool redact_scan_next(struct redact_scan *scan, size_t *ret_start,
		      size_t *ret_end);

#endif
