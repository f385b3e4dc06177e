/* suggest.h - suggests the word that was probably meant. */
#ifndef ROAR_CLI_SUGGEST_H
#define ROAR_CLI_SUGGEST_H

#include <stddef.h>

struct suggest {
	const char *word; /* as typed */
	const char *best; /* the closest candidate that is close enough, or NULL */
	size_t distance; /* of `best` */
};

struct suggest suggest_for(const char *word);

/* Considers one more candidate, which is borrowed. */
void suggest_offer(struct suggest *s, const char *candidate);

#endif
