/* balance.c - what "balanced" means for the shards of a dataset.
 *
 * The registration of the dataset says how its shards find their workers, and of each
 * shard how many bytes it has or where it is at home; that of a worker, what it can do and
 * where it is.  Here this becomes what lib/shard knows: options of a table, weights and
 * homes as numbers.
 *
 * A registration is bounded and a dataset may have more shards than that has numbers:
 * with m numbers for n shards, the i-th is for the shards s with i = s * m / n, rounded
 * down.  As many as there are shards are one for each. */
#include "coord/data/data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "shard/deal/hash_placement.h"
#include "shard/deal/table.h"

enum {
	MAX_NUMBERS = 1 << 16, /* of a registration */
	MAX_HOMES = 1 << 12,
	MAX_HOME = 255, /* bytes of a name */
	MAX_WEIGHT = 1000000,
	/* Shards, where a deal goes through more than those that move: nobody else is
	 * served meanwhile.  With these and 1,000 workers it takes some 10 ms, with 10,000
	 * a ring takes 0.1 s, and the first deal by rendezvous, a step for each shard and
	 * worker, a second. */
	MAX_WEIGHED = 1 << 20,
	MAX_WALKED = 1 << 18,
	MAX_HASHED = 1 << 16,
};

static const char weight_key[] = "roar.weight";
static const char home_key[] = "roar.home";

#define WAY(name) COORDINATOR__BALANCE__BALANCE_##name

/* clang-format off */
static const struct way {
	const char *name;
	enum shard_mode mode;
	int64_t max_shards; /* 0: as many as a job may have */
	bool is_described; /* what workers say of themselves counts */
} ways[] = {
	[WAY(COUNT)] = { "count", SHARD_TABLE, 0, false },
	[WAY(WEIGHT)] = { "weight", SHARD_TABLE, 0, true },
	[WAY(BYTES)] = { "bytes", SHARD_TABLE, MAX_WEIGHED, false },
	[WAY(LOCALITY)] = { "locality", SHARD_TABLE, MAX_WALKED, true },
	[WAY(RENDEZVOUS)] = { "rendezvous", SHARD_RENDEZVOUS, MAX_HASHED, false },
	[WAY(JUMP)] = { "jump", SHARD_JUMP, MAX_HASHED, false },
	[WAY(RING)] = { "ring", SHARD_RING, MAX_HASHED, false },
};
/* clang-format on */

static const struct way *way_of(const Coordinator__DatasetInfo *m)
{
	unsigned i = (unsigned)m->balance;

	return i < ARRAY_SIZE(ways) ? &ways[i] : NULL;
}

const char *balance_name(const struct dataset *d)
{
	return way_of(d->info)->name;
}

/* ---- what a registration says ---- */

static const char *find_label(const Coordinator__WorkerInfo *m, const char *key)
{
	for (size_t i = 0; i < m->n_metadata; i++)
		if (strcmp(m->metadata[i]->key, key) == 0)
			return m->metadata[i]->value;
	return NULL;
}

/* 0: that is none. */
static uint32_t parse_weight(const char *text)
{
	uint32_t n = 0;

	for (; *text >= '0' && *text <= '9' && n <= MAX_WEIGHT; text++)
		n = n * 10 + (uint32_t)(*text - '0');
	return *text || n > MAX_WEIGHT ? 0 : n;
}

int balance_check_worker(const struct request *q,
			 const Coordinator__WorkerInfo *m)
{
	const char *weight = find_label(m, weight_key);

	if (!weight || parse_weight(weight))
		return 0;
	request_refuse(
		q, COORD_INVALID_ARGUMENT,
		"%s of worker '%s' is '%.32s'; a weight is a number from 1 to %d",
		weight_key, m->worker_id, weight, MAX_WEIGHT);
	return -EINVAL;
}

static bool has_good_homes(const Coordinator__DatasetInfo *m)
{
	if (m->n_homes > MAX_HOMES)
		return false;
	for (size_t i = 0; i < m->n_shard_homes; i++)
		if (m->shard_homes[i] >= m->n_homes)
			return false;
	for (size_t i = 0; i < m->n_homes; i++)
		if (!*m->homes[i] || strlen(m->homes[i]) > MAX_HOME)
			return false;
	return true;
}

static bool has_good_bytes(const Coordinator__DatasetInfo *m, int64_t n_shards)
{
	uint64_t left_over = UINT64_C(1) << 62;

	for (size_t i = 0; i < m->n_shard_bytes; i++) {
		uint64_t times = (uint64_t)n_shards / m->n_shard_bytes + 1;

		if (m->shard_bytes[i] > left_over / times)
			return false;
		left_over -= m->shard_bytes[i] * times;
	}
	return true;
}

static bool is_good_length(size_t n, bool is_wanted, int64_t n_shards)
{
	if (!is_wanted)
		return n == 0;
	return n <= MAX_NUMBERS && n <= (uint64_t)n_shards &&
	       (n > 0 || n_shards == 0);
}

/* Why the numbers of a registration are none; NULL: they are good. */
static const char *fault(const Coordinator__DatasetInfo *m, int64_t n_shards)
{
	bool by_bytes = m->balance == WAY(BYTES);
	bool by_home = m->balance == WAY(LOCALITY);

	if (!is_good_length(m->n_shard_bytes, by_bytes, n_shards))
		return "shard_bytes goes with balance 'bytes', and has one number for each shard, or for as many shards as it takes to be 65536 numbers";
	if (!is_good_length(m->n_shard_homes, by_home, n_shards))
		return "shard_homes goes with balance 'locality', and has one number for each shard, or for as many shards as it takes to be 65536 numbers";
	if (!has_good_bytes(m, n_shards))
		return "shard_bytes are more than 2^62 together";
	if (!has_good_homes(m))
		return "shard_homes must be indices of homes, which has at most 4096 names of at most 255 bytes";
	return NULL;
}

bool balance_is_good(const Coordinator__DatasetInfo *m, int64_t n_shards)
{
	const struct way *way = way_of(m);

	return way && (!way->max_shards || n_shards <= way->max_shards) &&
	       !fault(m, n_shards);
}

int balance_check(const struct request *q, const Coordinator__DatasetInfo *m,
		  int64_t n_shards)
{
	const struct way *way = way_of(m);
	const char *why = fault(m, n_shards);

	if (balance_is_good(m, n_shards))
		return 0;
	if (!way)
		request_refuse(q, COORD_INVALID_ARGUMENT,
			       "balance is %d; the coordinator knows 0 to %zu",
			       (int)m->balance, ARRAY_SIZE(ways) - 1);
	else if (way->max_shards && n_shards > way->max_shards)
		request_refuse(
			q, COORD_INVALID_ARGUMENT,
			"dataset '%s' would have %lld shards, and balance '%s' is for at most %lld; take a larger shard_size or balance 'count'",
			m->dataset_id, (long long)n_shards, way->name,
			(long long)way->max_shards);
	else
		request_refuse(q, COORD_INVALID_ARGUMENT, "dataset '%s': %s",
			       m->dataset_id, why);
	return -EINVAL;
}

static bool same_homes(const Coordinator__DatasetInfo *a,
		       const Coordinator__DatasetInfo *b)
{
	if (a->n_homes != b->n_homes || a->n_shard_homes != b->n_shard_homes)
		return false;
	for (size_t i = 0; i < a->n_homes; i++)
		if (strcmp(a->homes[i], b->homes[i]) != 0)
			return false;
	return !a->n_shard_homes ||
	       memcmp(a->shard_homes, b->shard_homes,
		      a->n_shard_homes * sizeof(*a->shard_homes)) == 0;
}

bool balance_same(const Coordinator__DatasetInfo *a,
		  const Coordinator__DatasetInfo *b)
{
	return a->balance == b->balance &&
	       a->n_shard_bytes == b->n_shard_bytes &&
	       (!a->n_shard_bytes ||
		memcmp(a->shard_bytes, b->shard_bytes,
		       a->n_shard_bytes * sizeof(*a->shard_bytes)) == 0) &&
	       same_homes(a, b);
}

/* ---- what a table is told ---- */

static uint32_t home_number(const char *name)
{
	/* Two names with one number would only be taken for neighbours. */
	return (uint32_t)placement_key(name, strlen(name));
}

static int spread_bytes(const Coordinator__DatasetInfo *m, int64_t n_shards,
			uint64_t **ret)
{
	uint64_t *bytes = malloc(((size_t)n_shards + 1) * sizeof(*bytes));

	if (!bytes)
		return -ENOMEM;
	for (int64_t s = 0; s < n_shards; s++)
		bytes[s] = m->shard_bytes[s * (int64_t)m->n_shard_bytes /
					  n_shards];
	*ret = bytes;
	return 0;
}

static int spread_homes(const Coordinator__DatasetInfo *m, int64_t n_shards,
			uint32_t **ret)
{
	CLEANUP(freep) uint32_t *numbers = NULL;
	uint32_t *homes;

	numbers = malloc((m->n_homes + 1) * sizeof(*numbers));
	homes = malloc(((size_t)n_shards + 1) * sizeof(*homes));
	if (!numbers || !homes) {
		free(homes);
		return -ENOMEM;
	}
	for (size_t i = 0; i < m->n_homes; i++)
		numbers[i] = home_number(m->homes[i]);
	for (int64_t s = 0; s < n_shards; s++)
		homes[s] = numbers[m->shard_homes[s * (int64_t)m->n_shard_homes /
						  n_shards]];
	*ret = homes;
	return 0;
}

int balance_init(struct dataset *d)
{
	int r = 0;

	if (d->info->balance == WAY(BYTES))
		r = spread_bytes(d->info, d->total_shards, &d->bytes);
	if (d->info->balance == WAY(LOCALITY))
		r = spread_homes(d->info, d->total_shards, &d->homes);
	return r;
}

void balance_release(struct dataset *d)
{
	free(d->bytes);
	free(d->homes);
}

int balance_table(const struct dataset *d, struct shard_table **ret)
{
	const struct way *way = way_of(d->info);
	struct shard_options options = { .mode = way->mode,
					 .bytes = d->bytes,
					 .homes = d->homes,
					 .is_described = way->is_described };

	return shard_table_new((uint32_t)d->total_shards, &options, ret);
}

uint64_t balance_cost(const Coordinator__DatasetInfo *m, int64_t n_shards)
{
	uint64_t times = 1;

	if (m->balance == WAY(BYTES))
		times = 3; /* 8 bytes a shard more, and a number of 4 */
	if (m->balance == WAY(LOCALITY))
		times = 2;
	return (uint64_t)n_shards * times;
}

static uint32_t weight_of(const Coordinator__WorkerInfo *m)
{
	const char *label = find_label(m, weight_key);
	uint32_t weight = label ? parse_weight(label) : 0;

	if (!weight && m->gpu_count > 0)
		weight = (uint32_t)m->gpu_count;
	return weight ? weight : 1;
}

uint64_t balance_key(const struct worker *w)
{
	return placement_key(w->id, strlen(w->id));
}

struct shard_worker balance_worker(const struct dataset *d,
				   const struct worker *w)
{
	const Coordinator__WorkerInfo *m = w->info;
	struct shard_worker who = { .key = balance_key(w), .weight = 1 };
	const char *home = find_label(m, home_key);

	if (d->info->balance == WAY(WEIGHT))
		who.weight = weight_of(m);
	if (d->info->balance == WAY(LOCALITY))
		who.home = home_number(home ? home : m->hostname);
	return who;
}
