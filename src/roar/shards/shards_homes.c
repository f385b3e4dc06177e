/* shards_homes.c - see shards_homes.h */
#include "shards/shards_homes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/quote.h"
#include "base/str.h"
#include "base/vec.h"
#include "shard/deal/hash_placement.h"
#include "shard/deal/table.h"

void homes_release(struct homes *h)
{
	free(h->shards);
	free(h->workers);
}

/* The number that a name has in tables, of the coordinator as well. */
static uint32_t number_of(const char *name, size_t len)
{
	return (uint32_t)placement_key(name, len);
}

static int read_line(const char *path, char *line, struct homes *h)
{
	CLEANUP(str_release) struct str shown = STR_INIT;
	size_t len = strcspn(line, "\r\n");
	uint32_t *slot;

	quote_printable_cut(&shown, path, 100);
	if (h->n_shards == SHARD_MAX_SHARDS)
		return cli_fail(
			"too many shards in '%s'; a table has %d at most",
			str_cstr(&shown), SHARD_MAX_SHARDS);
	if (len == 0 || line[len] == '\0')
		return cli_fail(
			"line %zu of '%s' is not a name of up to 255 bytes: each "
			"line has the location of one shard",
			h->n_shards + 1, str_cstr(&shown));
	slot = VEC_PUSH(h->shards, h->n_shards, h->cap_shards);
	if (!slot)
		return cli_fail("out of memory");
	*slot = number_of(line, len);
	return 0;
}

static int read_shards(const char *path, struct homes *h)
{
	CLEANUP(fclosep) FILE *file = fopen(path, "re");
	CLEANUP(str_release) struct str shown = STR_INIT;
	char line[258]; /* 255, the line's end and that of the string */
	int r = 0;

	while (file && r == 0 && fgets(line, sizeof(line), file))
		r = read_line(path, line, h);
	if (file && !ferror(file))
		return r;
	quote_printable_cut(&shown, path, 100);
	return cli_fail("cannot read '%s': %s", str_cstr(&shown),
			strerror(errno));
}

static int parse_workers(const char *names, struct homes *h)
{
	for (const char *at = names;; at++) {
		size_t len = strcspn(at, ",");
		uint32_t *slot = VEC_PUSH(h->workers, h->n_workers,
					  h->cap_workers);

		if (!slot)
			return cli_fail("out of memory");
		*slot = number_of(at, len);
		at += len;
		if (!*at)
			return 0;
	}
}

int homes_parse(const struct args *args, struct homes *h)
{
	const char *path = args_get(args, "homes");
	const char *names = args_get(args, "at");
	int r;

	if (!path != !names)
		return cli_usage(
			args->command,
			"--homes (locations of the shards) and --at (locations of "
			"the workers) require each other");
	if (!path)
		return 0;
	r = parse_workers(names, h);
	return r ? r : read_shards(path, h);
}

uint32_t homes_of_worker(const struct homes *h, uint64_t number)
{
	return h->n_workers ? h->workers[number % h->n_workers] : 0;
}
