/* redact_internal.h - what the files of redact.h share. */
#ifndef ROAR_LINEAGE_REDACT_INTERNAL_H
#define ROAR_LINEAGE_REDACT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

/* A secret at a position: `keep` bytes stay, `len - keep` are replaced.  len 0: none. */
struct redact_span {
	size_t keep;
	size_t len;
};

/* Finds a secret with a known format at text[pos].  Called at every position; most are
 * decided by one character. */
struct redact_span redact_token_at(const char *text, size_t len, size_t pos);

/* Options that are secret in some programs only (redact_program.c).  A scan receives
 * the arguments of one command line, or cuts a text itself. */
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
	const struct redact_program *program; /* the program of these arguments,
					       * or NULL */
	const struct redact_program *outer_program;
	const struct redact_option *expected; /* the next argument is its value */
	const char *text;
	size_t len;
	size_t pos;
	char quote; /* the quotes around the words; 0: none */
	bool dollar; /* ... which are $'...' */
	bool apart; /* ... and are a command line of their own */
};

/* Takes the next argument.  True when it ends in a secret, after *ret_keep bytes. */
bool redact_scan_word(struct redact_scan *scan, const char *word, size_t len,
		      size_t *ret_keep);

/* The next secret of scan->text; false when there are no more. */
bool redact_scan_next(struct redact_scan *scan, size_t *ret_start,
		      size_t *ret_end);

#endif
