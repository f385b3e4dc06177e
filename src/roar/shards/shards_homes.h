/* shards_homes.h - where shards and workers of a plan are at home. */
#ifndef ROAR_SHARDS_HOMES_H
#define ROAR_SHARDS_HOMES_H

#include <stddef.h>
#include <stdint.h>

#include "cli/cli.h"

struct homes {
	uint32_t *shards; /* a number for each name; NULL: nobody asks */
	size_t n_shards, cap_shards;
	uint32_t *workers; /* likewise; from the first again after the last */
	size_t n_workers, cap_workers;
};

void homes_release(struct homes *h);

/* Reads --homes, a file with a name in each line, and --at, names with commas.  Returns 0 or
 * an exit status, after it was reported. */
int homes_parse(const struct args *args, struct homes *h);

/* Where worker `number` is. */
uint32_t homes_of_worker(const struct homes *h, uint64_t number);

#endif
