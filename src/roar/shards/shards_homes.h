/* shards_homes.h - the homes of shards and workers of a plan. */
#ifndef ROAR_SHARDS_HOMES_H
#define ROAR_SHARDS_HOMES_H

#include <stddef.h>
#include <stdint.h>

#include "cli/cli.h"

struct homes {
	uint32_t *shards; /* a number for each name; NULL: not given */
	size_t n_shards, cap_shards;
	uint32_t *workers; /* likewise; repeated if there are more workers */
	size_t n_workers, cap_workers;
};

void homes_release(struct homes *h);

/* Reads --homes, a file with one name per line, and --at, comma-separated names.  Returns
 * 0, or an exit status after an error message. */
int homes_parse(const struct args *args, struct homes *h);

/* The home of worker `number`. */
uint32_t homes_of_worker(const struct homes *h, uint64_t number);

#endif
