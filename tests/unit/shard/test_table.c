/* test_table.c - tables of shards, against a slow model that knows only owners.
 *
 * The model asks the table for every shard's owner before and after, and works out by
 * itself what had to move: for counts by trying, worker by worker, every way to
 * round the shares, for bytes by trying every table there is. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "base/cleanup.h"
#include "shard/place.h"
#include "shard/table.h"

DEFINE_CLEANUP(struct shard_table *, shard_table_free)

enum { MAX_WORKERS = 24, MAX_SHARDS = 400 };

static uint64_t seed;

static uint32_t draw(uint32_t below)
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

static uint64_t key_of(uint32_t worker)
{
	return worker * UINT64_C(0x9e3779b97f4a7c15) + 7;
}

static struct shard_table *table(uint32_t n_shards,
				 const struct shard_options *options)
{
	struct shard_table *t = NULL;

	assert_int_equal(shard_table_new(n_shards, options, &t), 0);
	return t;
}

static void join(struct shard_table *t, uint32_t worker)
{
	struct shard_worker who = { .key = key_of(worker) };

	assert_int_equal(shard_table_join(t, worker, &who), 0);
}

static struct shard_certificate deal(struct shard_table *t)
{
	struct shard_certificate c;

	assert_int_equal(shard_table_deal(t, &c), 0);
	return c;
}

static void look(const struct shard_table *t, struct model *m)
{
	m->n_shards = shard_table_n_shards(t);
	for (uint32_t s = 0; s < m->n_shards; s++)
		m->owners[s] = shard_table_owner(t, s);
}

static uint32_t count(const struct model *m, uint32_t worker)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < m->n_shards; s++)
		n += m->owners[s] == worker;
	return n;
}

static uint32_t differences(const struct model *a, const struct model *b)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < a->n_shards; s++)
		n += a->owners[s] != SHARD_NONE && a->owners[s] != b->owners[s];
	return n;
}

static uint64_t weight(const struct model *m, uint32_t worker)
{
	if (!m->is_here[worker])
		return 0;
	return m->who[worker].weight ? m->who[worker].weight : 1;
}

/* The fewest shards that must go from where `before` has them to where the workers of
 * `m` have their shares, each rounded one way or the other.  fewest[k] is that for the
 * workers so far when they have `k` shards together. */
static uint32_t minimum(const struct model *before, const struct model *m)
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

static uint64_t hash(const struct model *m)
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
static void check_lists(const struct shard_table *t, const struct model *m)
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

static void check_shares(const struct model *m)
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

static void check_certificate(const struct model *before,
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

static void check_minimum(const struct model *before, const struct model *after,
			  const struct shard_certificate *c)
{
	check_certificate(before, after, c);
	if (c->n_workers)
		assert_int_equal(c->minimum, before->owners[0] == SHARD_NONE ?
						     0 :
						     minimum(before, after));
}

/* ---- dealing by counts ---- */

static void the_first_deal_gives_neighbours(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(10, NULL);
	struct shard_certificate c;

	(void)state;
	for (uint32_t w = 0; w < 3; w++)
		join(t, w);
	assert_int_equal(shard_table_owner(t, 0), SHARD_NONE);
	assert_true(shard_table_is_due(t));
	c = deal(t);
	assert_false(shard_table_is_due(t));
	assert_int_equal(c.moved, 0);
	assert_int_equal(c.minimum, 0);
	assert_int_equal(c.most, 4);
	assert_int_equal(c.least, 3);
	assert_int_equal(c.version, 1);
	for (uint32_t s = 0; s < 10; s++)
		assert_int_equal(shard_table_owner(t, s),
				 s < 4 ? 0 : (s - 1) / 3);
	for (uint32_t s = 0; s < 4; s++) /* and lists go up */
		assert_int_equal(shard_table_next(t, 0, s ? s - 1 : SHARD_NONE),
				 s);
}

static void who_joins_takes_only_its_share(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(1000, NULL);
	struct shard_certificate c;

	(void)state;
	for (uint32_t w = 0; w < 100; w++)
		join(t, w);
	deal(t);
	join(t, 100);
	c = deal(t);
	assert_int_equal(c.moved, 9);
	assert_int_equal(c.minimum, 9);
	assert_true(shard_certificate_ratio(&c) == 1.0);
	assert_int_equal(shard_table_leave(t, 3), 0);
	c = deal(t);
	assert_int_equal(c.moved, c.minimum);
	assert_in_range(c.moved, 9, 10);
	assert_int_equal(c.most - c.least, 0);
}

static void neighbours_stay_neighbours(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(100, NULL);
	uint32_t breaks = 0;

	(void)state;
	join(t, 0);
	deal(t);
	join(t, 1);
	deal(t);
	for (uint32_t w = 0; w < 2; w++)
		for (uint32_t s = shard_table_next(t, w, SHARD_NONE), next;
		     (next = shard_table_next(t, w, s)) != SHARD_NONE; s = next)
			breaks += next != s + 1;
	assert_int_equal(breaks, 0);
}

static void without_workers_nobody_has_shards(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(10, NULL);
	struct shard_certificate c = deal(t);

	(void)state;
	assert_int_equal(c.n_workers, 0);
	assert_int_equal(shard_table_owner(t, 3), SHARD_NONE);
	join(t, 5);
	deal(t);
	assert_int_equal(shard_table_owner(t, 3), 5);
	assert_int_equal(shard_table_leave(t, 5), 0);
	c = deal(t);
	assert_int_equal(c.hash, 0);
	assert_int_equal(shard_table_owner(t, 3), SHARD_NONE);
	assert_int_equal(shard_table_next(t, 5, SHARD_NONE), SHARD_NONE);
}

static void who_comes_back_before_the_deal_keeps_its_shards(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(10, NULL);
	struct shard_worker other = { .key = 1 };
	struct shard_certificate c;

	(void)state;
	join(t, 0);
	join(t, 1);
	deal(t);
	assert_int_equal(shard_table_leave(t, 1), 0);
	assert_false(shard_table_is_free(t, 1));
	assert_int_equal(shard_table_join(t, 1, &other), -EEXIST);
	join(t, 1);
	c = deal(t);
	assert_int_equal(c.moved, 0);
	assert_int_equal(shard_table_leave(t, 1), 0);
	deal(t);
	assert_true(shard_table_is_free(t, 1));
	assert_int_equal(shard_table_join(t, 1, &other), 0);
}

/* One round: some come, some go, and everything is compared with the model. */
static void change_at_random(struct shard_table *t, struct model *m,
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

static void any_changes_move_the_minimum(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 60; i++) {
		uint32_t n_shards = 1 + draw(i % 3 ? 40 : MAX_SHARDS);
		CLEANUP(shard_table_freep)
		struct shard_table *t = table(n_shards, NULL);
		struct model m = { 0 };

		seed = i;
		look(t, &m);
		for (int j = 0; j < 25; j++)
			change_at_random(t, &m, i % 2);
	}
}

static void the_same_calls_lead_to_the_same_table(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *a = table(300, NULL);
	CLEANUP(shard_table_freep) struct shard_table *b = table(300, NULL);
	struct model x = { 0 }, y = { 0 };

	(void)state;
	look(a, &x);
	y = x;
	seed = 77;
	for (int j = 0; j < 50; j++)
		change_at_random(a, &x, true);
	seed = 77;
	for (int j = 0; j < 50; j++)
		change_at_random(b, &y, true);
	assert_memory_equal(x.owners, y.owners, sizeof(x.owners));
	assert_int_equal(shard_table_hash(a), shard_table_hash(b));
	assert_int_equal(shard_table_version(a), 50);
}

static void two_shards_that_change_places_change_the_hash(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *a = table(2, NULL);
	CLEANUP(shard_table_freep) struct shard_table *b = table(2, NULL);
	struct shard_worker one = { .key = 1 }, two = { .key = 2 };

	(void)state;
	assert_int_equal(shard_table_join(a, 0, &one), 0);
	assert_int_equal(shard_table_join(a, 1, &two), 0);
	assert_int_equal(shard_table_join(b, 0, &two), 0);
	assert_int_equal(shard_table_join(b, 1, &one), 0);
	deal(a);
	deal(b);
	assert_true(shard_table_hash(a) != shard_table_hash(b));
}

/* ---- homes ---- */

static void check_homes(const struct model *m, const uint32_t *homes,
			const struct shard_certificate *c, bool is_first)
{
	uint32_t at_home = 0, best = 0;

	for (uint32_t s = 0; s < m->n_shards; s++)
		at_home += m->owners[s] != SHARD_NONE &&
			   m->who[m->owners[s]].home == homes[s];
	assert_int_equal(c->at_home, at_home);
	for (uint32_t h = 0; h < 4; h++) {
		uint32_t live = 0, room = 0;

		for (uint32_t s = 0; s < m->n_shards; s++)
			live += homes[s] == h;
		for (uint32_t w = 0; w < MAX_WORKERS; w++)
			if (m->is_here[w] && m->who[w].home == h)
				room += count(m, w);
		best += live < room ? live : room;
	}
	assert_true(at_home <= best);
	if (is_first) /* as many as there can be with these counts */
		assert_int_equal(at_home, best);
}

static void shards_are_rather_at_home(void **state)
{
	static uint32_t homes[MAX_SHARDS];
	struct shard_options o = { .homes = homes };

	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		CLEANUP(shard_table_freep)
		struct shard_table *t = table(1 + draw(200), &o);
		struct model m = { 0 };
		bool is_first = true;

		seed = i;
		for (uint32_t s = 0; s < MAX_SHARDS; s++)
			homes[s] = draw(4);
		look(t, &m);
		for (int j = 0; j < 20; j++) {
			struct shard_certificate c;

			change_at_random(t, &m, i % 2);
			shard_table_certify(t, &c);
			if (c.n_workers)
				check_homes(&m, homes, &c, is_first);
			is_first = c.n_workers == 0;
		}
	}
}

/* Who comes takes what is at home where it is, from whoever has it. */
static void who_joins_gets_what_is_at_home_there(void **state)
{
	static const uint32_t homes[] = { 1, 2, 1, 2, 1, 2, 1, 2 };
	struct shard_options o = { .homes = homes };
	CLEANUP(shard_table_freep) struct shard_table *t = table(8, &o);
	struct shard_worker a = { .key = 1, .home = 1 };
	struct shard_worker b = { .key = 2, .home = 2 };
	struct shard_certificate c;

	(void)state;
	assert_int_equal(shard_table_join(t, 0, &a), 0);
	c = deal(t);
	assert_int_equal(c.at_home, 4);
	assert_int_equal(shard_table_join(t, 1, &b), 0);
	c = deal(t);
	assert_int_equal(c.moved, 4);
	assert_int_equal(c.at_home, 8);
}

/* ---- bytes ---- */

static uint64_t load(const struct model *m, const uint64_t *bytes,
		     uint32_t worker)
{
	uint64_t sum = 0;

	for (uint32_t s = 0; s < m->n_shards; s++)
		if (m->owners[s] == worker)
			sum += bytes[s] ? bytes[s] : 1;
	return sum;
}

static bool is_balanced(const struct model *m, const uint64_t *bytes)
{
	uint64_t most = 0, least = UINT64_MAX, largest = 1;

	for (uint32_t s = 0; s < m->n_shards; s++)
		largest = bytes[s] > largest ? bytes[s] : largest;
	for (uint32_t w = 0; w < MAX_WORKERS; w++) {
		uint64_t x = load(m, bytes, w);

		if (!m->is_here[w])
			continue;
		most = x > most ? x : most;
		least = x < least ? x : least;
	}
	return least == UINT64_MAX || most - least <= largest;
}

static uint64_t moved_bytes(const struct model *a, const struct model *b,
			    const uint64_t *bytes)
{
	uint64_t sum = 0;

	for (uint32_t s = 0; s < a->n_shards; s++)
		if (a->owners[s] != SHARD_NONE && a->owners[s] != b->owners[s])
			sum += bytes[s] ? bytes[s] : 1;
	return sum;
}

/* The fewest bytes of all tables there are: shard `s` and the ones after it are still
 * to be tried. */
static uint64_t fewest_bytes(const struct model *before, struct model *m,
			     const uint64_t *bytes, uint32_t s)
{
	uint64_t best = UINT64_MAX;

	if (s == m->n_shards)
		return is_balanced(m, bytes) ? moved_bytes(before, m, bytes) :
					       UINT64_MAX;
	for (uint32_t w = 0; w < MAX_WORKERS; w++) {
		uint64_t x;

		if (!m->is_here[w])
			continue;
		m->owners[s] = w;
		x = fewest_bytes(before, m, bytes, s + 1);
		best = x < best ? x : best;
	}
	return best;
}

/* Changes who is there, deals, and compares. */
static void change_bytes(struct shard_table *t, struct model *m,
			 const uint64_t *bytes, uint32_t n_workers,
			 bool try_all)
{
	struct model before = *m, tried;
	uint32_t w = draw(n_workers);
	struct shard_certificate c;

	if (m->is_here[w])
		assert_int_equal(shard_table_leave(t, w), 0);
	else
		join(t, w);
	m->is_here[w] = !m->is_here[w];
	c = deal(t);
	look(t, m);
	check_lists(t, m);
	assert_true(is_balanced(m, bytes));
	if (c.n_workers == 0)
		return;
	assert_int_equal(c.moved_bytes, moved_bytes(&before, m, bytes));
	assert_int_equal(c.moved, differences(&before, m));
	assert_true(c.minimum_bytes <= c.moved_bytes);
	if (!try_all)
		return;
	tried = *m;
	assert_true(c.minimum_bytes <= fewest_bytes(&before, &tried, bytes, 0));
}

static void bytes_are_balanced_to_the_largest_shard(void **state)
{
	static uint64_t bytes[MAX_SHARDS];
	struct shard_options o = { .bytes = bytes };

	(void)state;
	for (uint32_t i = 0; i < 40; i++) {
		bool is_small = i % 2;
		uint32_t n_shards = is_small ? 6 : 1 + draw(MAX_SHARDS);
		struct model m = { 0 };
		struct shard_table *t;

		seed = i;
		for (uint32_t s = 0; s < n_shards; s++)
			bytes[s] = draw(i % 3 ? 9 : 100000);
		t = table(n_shards, &o);
		look(t, &m);
		for (int j = 0; j < 12; j++)
			change_bytes(t, &m, bytes, is_small ? 3 : MAX_WORKERS,
				     is_small);
		shard_table_free(t);
	}
}

/* ---- changes of who is there ---- */

static void another_weight_moves_the_difference(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(100, NULL);
	struct shard_worker strong = { .key = key_of(1), .weight = 3 };
	struct shard_worker other = { .key = key_of(7), .weight = 3 };
	struct shard_certificate c;

	(void)state;
	join(t, 0);
	join(t, 1);
	deal(t);
	assert_int_equal(shard_table_change(t, 1, &other), -ENOENT);
	assert_int_equal(shard_table_change(t, 2, &strong), -ENOENT);
	assert_int_equal(shard_table_change(t, 1, &strong), 0);
	assert_true(shard_table_is_due(t));
	c = deal(t);
	assert_int_equal(c.moved, 25);
	assert_int_equal(c.minimum, 25);
	assert_int_equal(shard_table_count(t, 1), 75);
	assert_int_equal(shard_table_change(t, 1, &strong), 0);
	assert_false(shard_table_is_due(t));
	strong.weight = 1;
	assert_int_equal(shard_table_leave(t, 1), 0);
	assert_int_equal(shard_table_join(t, 1, &strong), 0);
	assert_int_equal(deal(t).moved, 25);
}

static void another_home_is_counted(void **state)
{
	static const uint32_t homes[] = { 1, 1, 2, 2 };
	struct shard_options o = { .homes = homes };
	CLEANUP(shard_table_freep) struct shard_table *t = table(4, &o);
	struct shard_worker who = { .key = key_of(0), .home = 1 };
	struct shard_certificate c;

	(void)state;
	assert_int_equal(shard_table_join(t, 0, &who), 0);
	assert_int_equal(deal(t).at_home, 2);
	who.home = 3;
	assert_int_equal(shard_table_change(t, 0, &who), 0);
	shard_table_certify(t, &c);
	assert_int_equal(c.at_home, 0);
}

/* ---- hashes ---- */

static const enum shard_mode modes[] = { SHARD_RENDEZVOUS, SHARD_JUMP,
					 SHARD_RING };

/* What a worker has fewer of than before must have moved, and no more need have. */
static uint32_t fewest_to_counts(const struct model *before,
				 const struct model *after)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < MAX_WORKERS; w++) {
		uint32_t had = count(before, w), has = count(after, w);

		n += had > has ? had - has : 0;
	}
	return n;
}

static void place_all(enum shard_mode mode, struct model *m)
{
	struct shard_options o = { .mode = mode };
	CLEANUP(shard_table_freep)
	struct shard_table *t = table(MAX_SHARDS, &o);

	for (uint32_t w = 0; w < MAX_WORKERS; w++)
		if (m->is_here[w])
			join(t, w);
	deal(t);
	look(t, m);
}

static void toggle(struct shard_table *t, struct model *m, uint32_t worker)
{
	if (!m->is_here[worker])
		join(t, worker);
	else
		assert_int_equal(shard_table_leave(t, worker), 0);
	m->is_here[worker] = !m->is_here[worker];
}

/* After any changes it is as if nobody else had ever been there. */
static void a_hash_has_no_memory(void **state)
{
	(void)state;
	seed = 5;
	for (size_t i = 0; i < 3; i++) {
		struct shard_options o = { .mode = modes[i] };
		CLEANUP(shard_table_freep)
		struct shard_table *t = table(MAX_SHARDS, &o);
		struct model before = { 0 }, m = { 0 }, fresh;

		toggle(t, &m, 0);
		for (int round = 0; round < 50; round++) {
			struct shard_certificate c;

			for (uint32_t n = draw(4); n > 0; n--)
				toggle(t, &m, 1 + draw(MAX_WORKERS - 1));
			c = deal(t);
			before = m;
			look(t, &m);
			fresh = m;
			place_all(modes[i], &fresh);
			assert_memory_equal(m.owners, fresh.owners,
					    sizeof(m.owners));
			check_lists(t, &m);
			if (round == 0)
				continue;
			check_certificate(&before, &m, &c);
			assert_int_equal(c.minimum,
					 fewest_to_counts(&before, &m));
		}
	}
}

/* Whatever came before, and what moved is counted. */
static void dealt_anew_is_as_dealt_first(void **state)
{
	static uint64_t bytes[MAX_SHARDS];
	static uint32_t homes[MAX_SHARDS];
	const struct shard_options ways[] = { { .bytes = bytes },
					      { .homes = homes },
					      { .mode = SHARD_RING },
					      { 0 } };

	(void)state;
	for (uint32_t s = 0; s < MAX_SHARDS; s++) {
		bytes[s] = 1 + s % 17;
		homes[s] = s % 2;
	}
	for (size_t i = 0; i < 4; i++) {
		CLEANUP(shard_table_freep)
		struct shard_table *t = table(MAX_SHARDS, &ways[i]);
		CLEANUP(shard_table_freep)
		struct shard_table *first = table(MAX_SHARDS, &ways[i]);
		struct model before, after = { 0 }, fresh;
		struct shard_certificate c;

		for (uint32_t w = 0; w < 5; w++)
			join(t, w);
		deal(t);
		assert_int_equal(shard_table_leave(t, 3), 0);
		deal(t);
		look(t, &before);
		join(t, 7);
		assert_int_equal(shard_table_deal_anew(t, &c), 0);
		look(t, &after);
		for (uint32_t w = 0; w < 8; w++)
			if (w < 3 || w == 4 || w == 7)
				join(first, w);
		deal(first);
		look(first, &fresh);
		assert_memory_equal(after.owners, fresh.owners,
				    sizeof(fresh.owners));
		assert_int_equal(c.moved, differences(&before, &after));
		assert_true(c.moved >= c.minimum && c.minimum > 0);
		assert_true(c.moved_bytes >= c.minimum_bytes);
	}
}

/* Who is prepared can be dealt without any memory. */
static void what_is_prepared_cannot_fail(void **state)
{
	static const uint64_t bytes[4] = { 4, 3, 2, 1 };
	static const uint32_t homes[4] = { 0 };
	const struct shard_options ways[] = { { 0 },
					      { .mode = SHARD_RENDEZVOUS },
					      { .mode = SHARD_RING },
					      { .bytes = bytes },
					      { .homes = homes } };

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		CLEANUP(shard_table_freep)
		struct shard_table *t = table(4, &ways[i]);

		for (uint32_t w = 0; w < 3; w++) {
			join(t, w);
			assert_int_equal(shard_table_prepare(t), 0);
			alloc_fail_after(0);
			assert_int_equal(shard_table_deal(t, NULL), 0);
			alloc_fail_never();
		}
	}
}

static void a_hash_fills_the_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct shard_options o = { .mode = modes[i] };
		CLEANUP(shard_table_freep)
		struct shard_table *t = table(MAX_SHARDS, &o);
		struct model before = { 0 }, m = { 0 };
		struct shard_certificate c;

		for (uint32_t w = 0; w < 10; w++) {
			join(t, w);
			m.is_here[w] = true;
		}
		deal(t);
		look(t, &m);
		check_lists(t, &m);
		before = m;
		join(t, 10);
		m.is_here[10] = true;
		c = deal(t);
		look(t, &m);
		check_lists(t, &m);
		check_certificate(&before, &m, &c);
		for (uint32_t s = 0; s < MAX_SHARDS; s++)
			assert_true(m.owners[s] == before.owners[s] ||
				    m.owners[s] == 10);
	}
}

/* ---- bounds ---- */

static void what_makes_no_sense_is_refused(void **state)
{
	static const uint64_t huge[] = { UINT64_MAX, 1 };
	static const uint32_t homes[] = { 0, 0 };
	struct shard_options both = { .bytes = huge, .homes = homes };
	struct shard_options hashed = { .mode = SHARD_JUMP, .homes = homes };
	struct shard_options too_large = { .bytes = huge };
	struct shard_worker who = { .key = 1 };
	struct shard_table *t = NULL;

	(void)state;
	assert_int_equal(shard_table_new(UINT32_MAX, NULL, &t), -EINVAL);
	assert_int_equal(shard_table_new(2, &both, &t), -EINVAL);
	assert_int_equal(shard_table_new(2, &hashed, &t), -EINVAL);
	assert_int_equal(shard_table_new(2, &too_large, &t), -EINVAL);
	assert_null(t);
	t = table(2, NULL);
	assert_int_equal(shard_table_join(t, SHARD_MAX_WORKERS, &who), -EINVAL);
	assert_int_equal(shard_table_leave(t, 0), -ENOENT);
	join(t, 0);
	assert_int_equal(shard_table_join(t, 0, &who), -EEXIST);
	assert_int_equal(shard_table_owner(t, 2), SHARD_NONE);
	assert_int_equal(shard_table_count(t, 9), 0);
	shard_table_free(t);
}

static void no_shards_are_dealt_as_well(void **state)
{
	CLEANUP(shard_table_freep) struct shard_table *t = table(0, NULL);
	struct shard_certificate c;

	(void)state;
	join(t, 0);
	c = deal(t);
	assert_int_equal(c.most, 0);
	join(t, 1);
	c = deal(t);
	assert_int_equal(c.moved, 0);
	assert_true(shard_certificate_ratio(&c) == 1.0);
}

static void a_shard_takes_five_bytes_at_most(void **state)
{
	enum { SHARDS = 1000000, WORKERS = 10000 };
	CLEANUP(shard_table_freep) struct shard_table *t = table(SHARDS, NULL);

	(void)state;
	for (uint32_t w = 0; w < WORKERS; w++)
		join(t, w);
	deal(t);
	join(t, WORKERS);
	deal(t);
	assert_true(shard_table_bytes(t) <= (size_t)5 * SHARDS);
}

static void without_memory_nothing_changes(void **state)
{
	static const uint32_t homes[100] = { 0 };
	static const uint64_t bytes[100] = { 0 };
	const struct shard_options options[] = { { .mode = SHARD_TABLE },
						 { .mode = SHARD_RING },
						 { .homes = homes },
						 { .bytes = bytes } };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		CLEANUP(shard_table_freep)
		struct shard_table *t = table(100, &options[i]);
		struct shard_worker who = { .key = 9 };
		uint64_t hash;
		int r;

		join(t, 0);
		deal(t);
		hash = shard_table_hash(t);
		alloc_fail_after(0);
		r = shard_table_join(t, 1000, &who);
		alloc_fail_never();
		assert_int_equal(r, -ENOMEM);
		assert_int_equal(shard_table_n_workers(t), 1);
		join(t, 1);
		for (int n = 0;; n++) {
			alloc_fail_after(n);
			r = shard_table_deal(t, NULL);
			alloc_fail_never();
			if (r == 0)
				break;
			assert_int_equal(r, -ENOMEM);
			assert_int_equal(shard_table_hash(t), hash);
			assert_int_equal(shard_table_version(t), 1);
			assert_true(shard_table_is_due(t));
		}
		assert_int_equal(shard_table_version(t), 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_deal_gives_neighbours),
		cmocka_unit_test(who_joins_takes_only_its_share),
		cmocka_unit_test(neighbours_stay_neighbours),
		cmocka_unit_test(without_workers_nobody_has_shards),
		cmocka_unit_test(
			who_comes_back_before_the_deal_keeps_its_shards),
		cmocka_unit_test(any_changes_move_the_minimum),
		cmocka_unit_test(the_same_calls_lead_to_the_same_table),
		cmocka_unit_test(two_shards_that_change_places_change_the_hash),
		cmocka_unit_test(shards_are_rather_at_home),
		cmocka_unit_test(who_joins_gets_what_is_at_home_there),
		cmocka_unit_test(bytes_are_balanced_to_the_largest_shard),
		cmocka_unit_test(a_hash_fills_the_table),
		cmocka_unit_test(a_hash_has_no_memory),
		cmocka_unit_test(what_is_prepared_cannot_fail),
		cmocka_unit_test(dealt_anew_is_as_dealt_first),
		cmocka_unit_test(another_weight_moves_the_difference),
		cmocka_unit_test(another_home_is_counted),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(no_shards_are_dealt_as_well),
		cmocka_unit_test(a_shard_takes_five_bytes_at_most),
		cmocka_unit_test(without_memory_nothing_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
