/* test_balance.c - shards dealt by weight, bytes and home, and placed by hashes.
 *
 * At the end of each test the host replays what was kept and restores a snapshot, so all
 * of these also outlive the process. */
#include "host.h"

#include <stdio.h>
#include <string.h>

#include "shard/deal/hash_placement.h"

enum { SHARDS = 120, MAX_WORKERS = 8 };

static uint64_t ask_dataset(struct host *h, Coordinator__DatasetInfo *m,
			    Coordinator__Balance balance)
{
	m->dataset_id = "d";
	if (!m->total_samples)
		m->total_samples = SHARDS;
	m->shard_size = 1;
	m->balance = balance;
	return ask(h, 99, "RegisterDataset", m);
}

static void register_dataset(struct host *h, Coordinator__Balance balance)
{
	Coordinator__DatasetInfo m = COORDINATOR__DATASET_INFO__INIT;

	expect(h, ask_dataset(h, &m, balance), COORD_OK);
}

static void refused(struct host *h, Coordinator__DatasetInfo *m,
		    Coordinator__Balance balance, const char *says)
{
	expect_says(expect(h, ask_dataset(h, m, balance),
			   COORD_INVALID_ARGUMENT),
		    says);
}

/* A worker that says of itself `key` = `value`. */
static uint64_t ask_labelled(struct host *h, uint64_t conn, const char *id,
			     const char *key, const char *value)
{
	Coordinator__WorkerInfo m = COORDINATOR__WORKER_INFO__INIT;
	Coordinator__WorkerInfo__MetadataEntry entry =
		COORDINATOR__WORKER_INFO__METADATA_ENTRY__INIT;
	Coordinator__WorkerInfo__MetadataEntry *entries = &entry;

	entry.key = (char *)key;
	entry.value = (char *)value;
	m.worker_id = (char *)id;
	m.hostname = (char *)id;
	m.metadata = &entries;
	m.n_metadata = 1;
	return ask(h, conn, "RegisterWorker", &m);
}

static const Roar__ListShardsReply *list(struct host *h, const char *id)
{
	Roar__ListShardsRequest m = ROAR__LIST_SHARDS_REQUEST__INIT;

	m.worker_id = (char *)id;
	m.session = session_of(h, id);
	m.dataset_id = "d";
	return MESSAGE(expect(h, ask(h, 0, "ListShards", &m), COORD_OK),
		       Roar__ListShardsReply);
}

static const Roar__TableReply *table(struct host *h)
{
	Roar__TableRequest m = ROAR__TABLE_REQUEST__INIT;

	m.dataset_id = "d";
	return MESSAGE(expect(h, ask(h, 0, "GetTable", &m), COORD_OK),
		       Roar__TableReply);
}

/* Who has each shard, by the index of its name. */
static void owners(struct host *h, const char *const *ids, size_t n,
		   int ret[SHARDS])
{
	memset(ret, 0xff, SHARDS * sizeof(*ret));
	for (size_t i = 0; i < n; i++) {
		const Roar__ListShardsReply *l = list(h, ids[i]);

		for (size_t k = 0; k < l->n_ranges; k++)
			for (int64_t s = 0; s < l->ranges[k]->count; s++) {
				int *owner = &ret[l->ranges[k]->first + s];

				assert_int_equal(*owner, -1);
				*owner = (int)i;
			}
	}
	for (int s = 0; s < SHARDS; s++)
		assert_int_not_equal(ret[s], -1);
}

static void check_same(const Roar__TableReply *a, const Roar__TableReply *b)
{
	assert_int_equal(a->version, b->version);
	assert_int_equal(a->hash, b->hash);
	assert_int_equal(a->moved, b->moved);
	assert_int_equal(a->minimum, b->minimum);
	assert_int_equal(a->moved_bytes, b->moved_bytes);
	assert_int_equal(a->minimum_bytes, b->minimum_bytes);
	assert_int_equal(a->most_bytes, b->most_bytes);
	assert_int_equal(a->at_home, b->at_home);
	assert_int_equal(a->moved_ever, b->moved_ever);
}

/* By reading the log again, and by the snapshot. */
static void came_back(struct host *h)
{
	const Roar__TableReply *before = table(h);

	host_restart(h);
	check_same(table(h), before);
	host_restore(h);
	check_same(table(h), before);
}

/* ---- hashes ---- */

static void by_rendezvous(const uint64_t *keys, uint32_t n, int ret[SHARDS])
{
	for (uint32_t s = 0; s < SHARDS; s++)
		ret[s] = (int)placement_rendezvous(s, keys, n);
}

static void by_ring(const uint64_t *keys, uint32_t n, int ret[SHARDS])
{
	struct placement_ring *ring = NULL;

	assert_int_equal(placement_ring_new(keys, n, &ring), 0);
	for (uint32_t s = 0; s < SHARDS; s++)
		ret[s] = (int)placement_ring_at(ring, s);
	placement_ring_free(ring);
}

static void by_jump(const uint64_t *keys, uint32_t n, int ret[SHARDS])
{
	(void)keys;
	for (uint32_t s = 0; s < SHARDS; s++)
		ret[s] = (int)placement_jump(s, n);
}

/* Whoever knows the workers finds what the coordinator says. */
static void check_places(struct host *h, const char *const *ids, uint32_t n,
			 void (*place)(const uint64_t *keys, uint32_t n,
				       int *ret))
{
	uint64_t keys[MAX_WORKERS];
	int told[SHARDS], found[SHARDS];

	for (uint32_t i = 0; i < n; i++)
		keys[i] = placement_key(ids[i], strlen(ids[i]));
	owners(h, ids, n, told);
	place(keys, n, found);
	assert_memory_equal(told, found, sizeof(told));
}

static void a_hash_places(struct host *h, Coordinator__Balance balance,
			  void (*place)(const uint64_t *keys, uint32_t n,
					int *ret))
{
	static const char *const before[] = { "a", "b", "c" };
	static const char *const after[] = { "a", "c", "x", "y" };

	register_dataset(h, balance);
	for (uint64_t i = 0; i < 3; i++)
		join(h, i + 1, before[i]);
	check_places(h, before, 3, place);
	/* Numbers of places that are given up are taken again. */
	expect(h, ask_deregister(h, 2, "b"), COORD_OK);
	assert_int_equal(table(h)->version, 2);
	came_back(h);
	join(h, 4, "x");
	join(h, 5, "y");
	if (balance == COORDINATOR__BALANCE__BALANCE_JUMP)
		assert_int_equal(table(h)->version, 4);
	else
		check_places(h, after, 4, place);
	came_back(h);
}

static void rendezvous_needs_no_table(void **state)
{
	struct host *h = *state;

	a_hash_places(h, COORDINATOR__BALANCE__BALANCE_RENDEZVOUS,
		      by_rendezvous);
	assert_string_equal(table(h)->balance, "rendezvous");
	assert_int_equal(table(h)->moved, table(h)->minimum);
}

static void jump_needs_no_table(void **state)
{
	a_hash_places(*state, COORDINATOR__BALANCE__BALANCE_JUMP, by_jump);
}

static void a_ring_needs_no_table(void **state)
{
	struct host *h = *state;

	a_hash_places(h, COORDINATOR__BALANCE__BALANCE_RING, by_ring);
	assert_int_equal(table(h)->moved, table(h)->minimum);
}

/* ---- weights ---- */

static void shards_go_by_weight(void **state)
{
	struct host *h = *state;

	register_dataset(h, COORDINATOR__BALANCE__BALANCE_WEIGHT);
	expect(h, ask_labelled(h, 1, "a", "roar.weight", "2"), COORD_OK);
	join(h, 2, "b"); /* says nothing */
	assert_int_equal(list(h, "a")->n_shards, 80);
	assert_int_equal(list(h, "b")->n_shards, 40);
	expect(h, ask_labelled(h, 3, "c", "roar.weight", "3"), COORD_OK);
	assert_int_equal(list(h, "a")->n_shards, 40);
	assert_int_equal(list(h, "b")->n_shards, 20);
	assert_int_equal(list(h, "c")->n_shards, 60);
	assert_int_equal(table(h)->moved, 60);
	assert_int_equal(table(h)->minimum, 60);
	came_back(h);
	/* What it led to goes on as before, also with those who are gone. */
	expect(h, ask_deregister(h, 3, "c"), COORD_OK);
	came_back(h);
	expect(h, ask_deregister(h, 2, "b"), COORD_OK);
	came_back(h);
	assert_int_equal(list(h, "a")->n_shards, SHARDS);
}

static void without_weight_gpus_count(void **state)
{
	struct host *h = *state;
	Coordinator__WorkerInfo m = COORDINATOR__WORKER_INFO__INIT;

	register_dataset(h, COORDINATOR__BALANCE__BALANCE_WEIGHT);
	m.worker_id = "a";
	m.gpu_count = 3;
	expect(h, ask(h, 1, "RegisterWorker", &m), COORD_OK);
	join(h, 2, "b");
	assert_int_equal(list(h, "a")->n_shards, 90);
}

static void a_successor_has_its_own_weight(void **state)
{
	struct host *h = *state;

	register_dataset(h, COORDINATOR__BALANCE__BALANCE_WEIGHT);
	join(h, 1, "a");
	join(h, 2, "b");
	assert_int_equal(list(h, "a")->n_shards, 60);
	gone(h, 2);
	pass_ms(h, 10000);
	beat(h, 1, "a");
	expect(h, ask_labelled(h, 3, "b", "roar.weight", "3"), COORD_OK);
	assert_int_equal(table(h)->moved, 30);
	assert_int_equal(list(h, "b")->n_shards, 90);
	came_back(h);
}

static void weights_are_of_no_account_where_shards_are_counted(void **state)
{
	struct host *h = *state;

	register_dataset(h, COORDINATOR__BALANCE__BALANCE_COUNT);
	expect(h, ask_labelled(h, 1, "a", "roar.weight", "5"), COORD_OK);
	join(h, 2, "b");
	assert_int_equal(list(h, "a")->n_shards, 60);
	assert_string_equal(table(h)->balance, "count");
}

static void a_weight_is_a_number(void **state)
{
	static const char *const none[] = { "",	   "0",	      "-1",
					    "1.5", "1000001", "99999999999" };
	struct host *h = *state;

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		expect_says(
			expect(h,
			       ask_labelled(h, 1, "a", "roar.weight", none[i]),
			       COORD_INVALID_ARGUMENT),
			"roar.weight of worker 'a'");
}

/* ---- homes ---- */

static void shards_are_rather_at_home(void **state)
{
	static char *homes[] = { "east", "west" };
	struct host *h = *state;
	Coordinator__DatasetInfo m = COORDINATOR__DATASET_INFO__INIT;
	uint32_t at[] = { 1, 0, 1, 0 };

	m.homes = homes;
	m.n_homes = 2;
	m.shard_homes = at;
	m.n_shard_homes = 4; /* for 30 shards each */
	expect(h, ask_dataset(h, &m, COORDINATOR__BALANCE__BALANCE_LOCALITY),
	       COORD_OK);
	expect(h, ask_labelled(h, 1, "a", "roar.home", "east"), COORD_OK);
	/* Says it by its hostname. */
	expect(h, ask_labelled(h, 2, "west", "other", "east"), COORD_OK);
	assert_int_equal(list(h, "a")->n_shards, 60);
	assert_int_equal(list(h, "a")->ranges[0]->first, 30);
	assert_int_equal(list(h, "a")->ranges[0]->count, 30);
	assert_int_equal(list(h, "a")->ranges[1]->first, 90);
	assert_int_equal(table(h)->at_home, SHARDS);
	came_back(h);
	expect(h, ask_labelled(h, 3, "c", "roar.home", "west"), COORD_OK);
	assert_int_equal(table(h)->most, 40);
	assert_int_equal(table(h)->at_home, 100);
	came_back(h);
	expect(h, ask_deregister(h, 2, "west"), COORD_OK);
	assert_int_equal(table(h)->moved, table(h)->minimum);
	came_back(h);
}

/* ---- bytes ---- */

static void bytes_are_balanced(void **state)
{
	struct host *h = *state;
	Coordinator__DatasetInfo m = COORDINATOR__DATASET_INFO__INIT;
	uint64_t bytes[SHARDS];

	for (uint64_t s = 0; s < SHARDS; s++)
		bytes[s] = 1 + s * s % 100;
	m.shard_bytes = bytes;
	m.n_shard_bytes = SHARDS;
	expect(h, ask_dataset(h, &m, COORDINATOR__BALANCE__BALANCE_BYTES),
	       COORD_OK);
	for (uint64_t i = 0; i < 5; i++) {
		const Roar__TableReply *t;
		char id[8];

		(void)snprintf(id, sizeof(id), "w%d", (int)i);
		join(h, i + 1, id);
		(void)list(h, id);
		t = table(h);
		assert_true(t->most_bytes - t->least_bytes <= 100);
		assert_true(t->minimum_bytes <= t->moved_bytes);
		came_back(h);
	}
	expect(h, ask_deregister(h, 2, "w1"), COORD_OK);
	assert_true(table(h)->most_bytes - table(h)->least_bytes <= 100);
	assert_true(table(h)->moved_bytes >= table(h)->minimum_bytes);
	assert_true(table(h)->minimum_bytes > 0);
	came_back(h);
}

/* ---- what makes no sense ---- */

static void bad_registrations_are_named(void **state)
{
	static char *homes[] = { "east" };
	static uint32_t at[1 << 17];
	static uint64_t bytes[] = { UINT64_C(1) << 61 };
	struct host *h = *state;
	Coordinator__DatasetInfo m = COORDINATOR__DATASET_INFO__INIT;

	refused(h, &m, (Coordinator__Balance)7, "balance is 7");
	refused(h, &m, COORDINATOR__BALANCE__BALANCE_BYTES, "shard_bytes");
	refused(h, &m, COORDINATOR__BALANCE__BALANCE_LOCALITY, "shard_homes");
	m.shard_bytes = bytes;
	m.n_shard_bytes = 1;
	refused(h, &m, COORDINATOR__BALANCE__BALANCE_COUNT, "goes with");
	refused(h, &m, COORDINATOR__BALANCE__BALANCE_BYTES, "2^62");
	m.n_shard_bytes = 0;
	m.shard_homes = at;
	m.n_shard_homes = 1;
	refused(h, &m, COORDINATOR__BALANCE__BALANCE_LOCALITY, "indices");
	m.homes = homes;
	m.n_homes = 1;
	m.total_samples = 1 << 18;
	m.n_shard_homes = 1 << 17;
	refused(h, &m, COORDINATOR__BALANCE__BALANCE_LOCALITY, "65536");
	m.n_shard_homes = 0;
	m.total_samples = (1 << 16) + 1;
	refused(h, &m, COORDINATOR__BALANCE__BALANCE_RENDEZVOUS,
		"at most 65536");
}

static void another_balance_is_another_dataset(void **state)
{
	struct host *h = *state;
	Coordinator__DatasetInfo m = COORDINATOR__DATASET_INFO__INIT;

	register_dataset(h, COORDINATOR__BALANCE__BALANCE_RING);
	register_dataset(h, COORDINATOR__BALANCE__BALANCE_RING);
	expect(h, ask_dataset(h, &m, COORDINATOR__BALANCE__BALANCE_JUMP),
	       COORD_ALREADY_EXISTS);
}

#define HOST_TEST(f) \
	cmocka_unit_test_setup_teardown(f, host_setup, host_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HOST_TEST(rendezvous_needs_no_table),
		HOST_TEST(jump_needs_no_table),
		HOST_TEST(a_ring_needs_no_table),
		HOST_TEST(shards_go_by_weight),
		HOST_TEST(without_weight_gpus_count),
		HOST_TEST(a_successor_has_its_own_weight),
		HOST_TEST(weights_are_of_no_account_where_shards_are_counted),
		HOST_TEST(a_weight_is_a_number),
		HOST_TEST(shards_are_rather_at_home),
		HOST_TEST(bytes_are_balanced),
		HOST_TEST(bad_registrations_are_named),
		HOST_TEST(another_balance_is_another_dataset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
