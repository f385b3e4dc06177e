/* shard_table.c - what dealing shards costs.
 *
 *	shard_table MODE WORKERS SHARDS ROUNDS
 *
 * Makes a table of that many shards, lets the workers join and deals; then one more
 * joins, and one leaves.  Everything again in each round, with fresh memory as a program
 * that starts has it.  Prints a line of JSON for each. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "shard/deal/hash_placement.h"
#include "shard/deal/table.h"

DEFINE_CLEANUP(struct shard_table *, shard_table_free)

struct times {
	double assign_ms, join_us, leave_us;
};

__attribute__((noreturn)) static void die(const char *what)
{
	(void)fprintf(stderr, "shard_table: %s\n", what);
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Names are not what is measured. */
static struct shard_worker *make_workers(uint32_t n)
{
	struct shard_worker *who = calloc(n, sizeof(*who));
	char name[32];

	if (!who)
		die("out of memory");
	for (uint32_t w = 0; w < n; w++) {
		int len = snprintf(name, sizeof(name), "worker-%u", w);

		who[w].key = placement_key(name, (size_t)len);
	}
	return who;
}

static void join(struct shard_table *t, const struct shard_worker *who,
		 uint32_t worker)
{
	if (shard_table_join(t, worker, &who[worker]) < 0)
		die("a worker cannot join");
}

static struct shard_certificate deal(struct shard_table *t)
{
	struct shard_certificate c;

	if (shard_table_deal(t, &c) < 0)
		die("a table cannot be dealt");
	return c;
}

static void tell(const struct times *times, const struct shard_table *t,
		 const struct shard_certificate *joined,
		 const struct shard_certificate *left)
{
	printf("{\"assign_ms\": %.6f, \"join_us\": %.3f, \"leave_us\": %.3f, "
	       "\"bytes_per_shard\": %.4f, \"join_ratio\": %.4f, "
	       "\"leave_ratio\": %.4f, \"spread\": %u}\n",
	       times->assign_ms, times->join_us, times->leave_us,
	       (double)shard_table_bytes(t) / shard_table_n_shards(t),
	       shard_certificate_ratio(joined), shard_certificate_ratio(left),
	       left->most - left->least);
}

static void measure(enum shard_mode mode, uint32_t n_workers, uint32_t n_shards)
{
	struct shard_options options = { .mode = mode };
	CLEANUP(freep)
	struct shard_worker *who = make_workers(n_workers + 1);
	CLEANUP(shard_table_freep) struct shard_table *t = NULL;
	struct shard_certificate joined, left;
	struct times times;
	double began = now_us();

	if (shard_table_new(n_shards, &options, &t) < 0)
		die("a table cannot be made");
	for (uint32_t w = 0; w < n_workers; w++)
		join(t, who, w);
	(void)deal(t);
	times.assign_ms = (now_us() - began) / 1e3;

	began = now_us();
	join(t, who, n_workers);
	joined = deal(t);
	times.join_us = now_us() - began;

	began = now_us();
	if (shard_table_leave(t, n_workers / 2) < 0)
		die("a worker cannot leave");
	left = deal(t);
	times.leave_us = now_us() - began;
	tell(&times, t, &joined, &left);
}

static enum shard_mode mode_of(const char *name)
{
	static const char *const names[] = { "table", "rendezvous", "jump",
					     "ring" };

	for (int i = 0; i < 4; i++)
		if (strcmp(names[i], name) == 0)
			return (enum shard_mode)i;
	die("the modes are table, rendezvous, jump and ring");
}

int main(int argc, char **argv)
{
	if (argc != 5)
		die("usage: shard_table MODE WORKERS SHARDS ROUNDS");
	for (long i = strtol(argv[4], NULL, 10); i > 0; i--)
		measure(mode_of(argv[1]), (uint32_t)strtoul(argv[2], NULL, 10),
			(uint32_t)strtoul(argv[3], NULL, 10));
	return 0;
}
