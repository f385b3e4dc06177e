/* table_model.h - a slow model of a table, that knows only owners.
 *
 * The model asks the table for every shard's owner before and after, and works out by
 * itself what had to move: for counts by trying, worker by worker, every way to
 * round the shares. */
#ifndef ROAR_TESTS_SHARD_TABLE_MODEL_H
#define ROAR_TESTS_SHARD_TABLE_MODEL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "shard/deal/table.h"

DEFINE_CLEANUP(struct shard_table *, shard_table_free)

enum { MAX_WORKERS = 24, MAX_SHARDS = 400 };

static uint64_t seed;

static inline uint32_t draw(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) +
	       UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % below;
}

/* ---- the model ---- */

struct model {
	uint32_t n_shards;
	uint32_t owners[MAX_SHARDS];
	struct shard_worker who[MAX_WORKERS];
	bool is_here[MAX_WORKERS];
};

static inline uint64_t key_of(uint32_t worker)
{
	return worker * UINT64_C(0x9e3779b97f4a7c15) + 7;
}

static inline struct shard_table *table(uint32_t n_shards,
					const struct shard_options *options)
{
	struct shard_table *t = NULL;

	assert_int_equal(shard_table_new(n_shards, options, &t), 0);
	return t;
}

static inline void join(struct shard_table *t, uint32_t worker)
{
	struct shard_worker who = { .key = key_of(worker) };

	assert_int_equal(shard_table_join(t, worker, &who), 0);
}

static inline struct shard_certificate deal(struct shard_table *t)
{
	struct shard_certificate c;

	assert_int_equal(shard_table_deal(t, &c), 0);
	return c;
}

static inline void look(const struct shard_table *t, struct model *m)
{
	m->n_shards = shard_table_n_shards(t);
	for (uint32_t s = 0; s < m->n_shards; s++)
		m->owners[s] = shard_table_owner(t, s);
}

static inline uint32_t count(const struct model *m, uint32_t worker)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < m->n_shards; s++)
		n += m->owners[s] == worker;
	return n;
}

static inline uint32_t differences(const struct model *a, const struct model *b)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < a->n_shards; s++)
		n += a->owners[s] != SHARD_NONE && a->owners[s] != b->owners[s];
	return n;
}

static inline uint64_t weight(const struct model *m, uint32_t worker)
{
	if (!m->is_here[worker])
		return 0;
	return m->who[worker].weight ? m->who[worker].weight : 1;
}

/* The fewest shards that must go from where `before` has them to where the workers of
 * `m` have their shares, each rounded one way or the other.  fewest[k] is that for the
 * workers so far when they have `k` shards together. */
static inline uint32_t minimum(const struct model *before,
			       const struct model *m)
{
	uint32_t fewest[MAX_SHARDS + 1], then[MAX_SHARDS + 1];
	uint64_t all = 0;

	for (uint32_t w = 0; w < MAX_WORKERS; w++)
		all += weight(m, w);
	memset(fewest, 0xff, sizeof(fewest));
	fewest[0] = 0;
	for (uint32_t w = 0; w < MAX_WORKERS; w++) {
		uint32_t has = count(before, w);
		uint64_t due = m->n_shards * weight(m, w);
		uint32_t low = (uint32_t)(due / all);
		uint32_t high = (uint32_t)((due + all - 1) / all);

		memset(then, 0xff, sizeof(then));
		for (uint32_t k = 0; k <= m->n_shards; k++)
			for (uint32_t n = low; n <= high; n++) {
				uint32_t moves = has > n ? has - n : 0;

				if (fewest[k] == UINT32_MAX ||
				    k + n > m->n_shards)
					continue;
				if (fewest[k] + moves < then[k + n])
					then[k + n] = fewest[k] + moves;
			}
		memcpy(fewest, then, sizeof(fewest));
	}
	return fewest[m->n_shards];
}

static inline uint64_t hash(const struct model *m)
{
	uint64_t sum = 0;

	for (uint32_t s = 0; s < m->n_shards; s++) {
		uint64_t x = key_of(m->owners[s]);

		if (m->owners[s] == SHARD_NONE)
			continue;
		x += (s + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
		x = (x ^ (x >> 32)) * UINT64_C(0xd6e8feb86659fd93);
		sum += x ^ (x >> 32);
	}
	return sum;
}

/* The list of each worker is what the owners say. */
static inline void check_lists(const struct shard_table *t,
			       const struct model *m)
{
	for (uint32_t w = 0; w < MAX_WORKERS; w++) {
		uint32_t n = 0;

		for (uint32_t s = shard_table_next(t, w, SHARD_NONE);
		     s != SHARD_NONE; s = shard_table_next(t, w, s)) {
			assert_int_equal(m->owners[s], w);
			n++;
		}
		assert_int_equal(n, count(m, w));
		assert_int_equal(n, shard_table_count(t, w));
	}
}

static inline void check_shares(const struct model *m)
{
	uint64_t all = 0;

	for (uint32_t w = 0; w < MAX_WORKERS; w++)
		all += weight(m, w);
	for (uint32_t w = 0; w < MAX_WORKERS; w++) {
		uint64_t due = m->n_shards * weight(m, w);
		uint64_t has = (uint64_t)count(m, w) * all;

		if (all)
			assert_true(has < due + all && due < has + all);
		else
			assert_int_equal(count(m, w), 0);
	}
}

static inline void check_certificate(const struct model *before,
				     const struct model *after,
				     const struct shard_certificate *c)
{
	uint32_t most = 0, least = UINT32_MAX, n = 0;

	for (uint32_t w = 0; w < MAX_WORKERS; w++) {
		uint32_t has = count(after, w);

		if (!after->is_here[w])
			continue;
		n++;
		most = has > most ? has : most;
		least = has < least ? has : least;
	}
	assert_int_equal(c->n_workers, n);
	assert_int_equal(c->hash, hash(after));
	if (n == 0)
		return;
	assert_int_equal(c->most, most);
	assert_int_equal(c->least, least);
	assert_int_equal(c->moved, differences(before, after));
}

static inline void check_minimum(const struct model *before,
				 const struct model *after,
				 const struct shard_certificate *c)
{
	check_certificate(before, after, c);
	if (c->n_workers)
		assert_int_equal(c->minimum, before->owners[0] == SHARD_NONE ?
						     0 :
						     minimum(before, after));
}

/* One round: some come, some go, and everything is compared with the model. */
static inline void change_at_random(struct shard_table *t, struct model *m,
				    bool weighted)
{
	struct model before = *m;
	struct shard_certificate c;

	for (uint32_t n = 1 + draw(4); n > 0; n--) {
		uint32_t w = draw(MAX_WORKERS);

		if (m->is_here[w]) {
			assert_int_equal(shard_table_leave(t, w), 0);
			m->is_here[w] = false;
		} else if (shard_table_is_free(t, w)) {
			m->who[w] = (struct shard_worker){
				.key = key_of(w),
				.weight = weighted ? draw(5) : 0,
				.home = draw(4)
			};
			assert_int_equal(shard_table_join(t, w, &m->who[w]), 0);
			m->is_here[w] = true;
		}
	}
	c = deal(t);
	look(t, m);
	check_lists(t, m);
	check_shares(m);
	check_minimum(&before, m, &c);
	assert_true(shard_certificate_ratio(&c) == 1.0);
}

#endif
