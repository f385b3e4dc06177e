/* redact_internal.h - the parts of redact.h among themselves. */
#ifndef ROAR_LINEAGE_REDACT_INTERNAL_H
#define ROAR_LINEAGE_REDACT_INTERNAL_H

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

#endif
