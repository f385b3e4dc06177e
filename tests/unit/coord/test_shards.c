/* test_shards.c - who has which shards, as workers come and go. */
#include "host.h"

#include <stdio.h>
#include <string.h>

enum { SHARDS = 60, MAX_WORKERS = 12 };

static void register_dataset(struct host *h)
{
	Coordinator__DatasetInfo m = COORDINATOR__DATASET_INFO__INIT;

	m.dataset_id = "d";
	m.path = "/data/d";
	m.total_samples = SHARDS * 10 - 3;
	m.shard_size = 10;
	expect(h, ask(h, 99, "RegisterDataset", &m), COORD_OK);
}

static uint64_t ask_shard(struct host *h, uint64_t conn, const char *id,
			  int64_t epoch)
{
	Coordinator__ShardRequest m = COORDINATOR__SHARD_REQUEST__INIT;

	m.worker_id = (char *)id;
	m.dataset_id = "d";
	m.epoch = epoch;
	return ask(h, conn, "GetDataShard", &m);
}

static uint64_t ask_list(struct host *h, const char *id, uint64_t after,
			 uint64_t version, int32_t limit)
{
	Roar__ListShardsRequest m = ROAR__LIST_SHARDS_REQUEST__INIT;

	m.worker_id = (char *)id;
	m.dataset_id = "d";
	m.after = after;
	m.version = version;
	m.limit = limit;
	return ask(h, 0, "ListShards", &m);
}

static const Roar__ListShardsReply *list(struct host *h, const char *id)
{
	return MESSAGE(expect(h, ask_list(h, id, 0, 0, 0), COORD_OK),
		       Roar__ListShardsReply);
}

static const Roar__TableReply *table(struct host *h)
{
	Roar__TableRequest m = ROAR__TABLE_REQUEST__INIT;

	m.dataset_id = "d";
	return MESSAGE(expect(h, ask(h, 0, "GetTable", &m), COORD_OK),
		       Roar__TableReply);
}

static uint64_t ask_epoch(struct host *h, const char *id, int64_t epoch)
{
	Roar__AdvanceEpochRequest m = ROAR__ADVANCE_EPOCH_REQUEST__INIT;

	m.worker_id = (char *)id;
	m.dataset_id = "d";
	m.epoch = epoch;
	return ask(h, 0, "AdvanceEpoch", &m);
}

/* ---- dealing ---- */

static void shards_are_dealt_when_somebody_asks(void **state)
{
	struct host *h = *state;
	const Coordinator__ShardAssignment *m;

	register_dataset(h);
	join(h, 1, "a");
	join(h, 2, "b");
	assert_int_equal(table(h)->version, 0);
	join(h, 3, "c");
	m = MESSAGE(expect(h, ask_shard(h, 3, "c", 3), COORD_OK),
		    Coordinator__ShardAssignment);
	assert_int_equal(m->shard_id, 40);
	assert_int_equal(m->start_index, 400);
	assert_int_equal(m->end_index, 410);
	assert_int_equal(m->total_shards, SHARDS);
	assert_int_equal(m->epoch, 3);
	assert_string_equal(m->file_paths[0], "/data/d");
	assert_int_equal(table(h)->version, 1);
	assert_int_equal(table(h)->moved, 0);
	expect(h, ask_shard(h, 1, "x", 3), COORD_NOT_FOUND);
}

static void the_last_shard_may_be_shorter(void **state)
{
	struct host *h = *state;
	Coordinator__DatasetInfo m = COORDINATOR__DATASET_INFO__INIT;
	const Coordinator__ShardAssignment *last;

	join(h, 1, "a");
	join(h, 2, "b");
	join(h, 3, "c");
	expect(h, ask_shard(h, 1, "a", 0), COORD_NOT_FOUND);
	m.dataset_id = "d";
	m.total_samples = 150;
	m.shard_size = 100;
	expect(h, ask(h, 1, "RegisterDataset", &m), COORD_OK);
	last = MESSAGE(expect(h, ask_shard(h, 2, "b", 0), COORD_OK),
		       Coordinator__ShardAssignment);
	assert_int_equal(last->shard_id, 1);
	assert_int_equal(last->end_index, 150);
	assert_int_equal(last->n_file_paths, 0);
	expect_says(expect(h, ask_shard(h, 3, "c", 0), COORD_OUT_OF_RANGE),
		    "rank 2");
}

static void who_leaves_moves_only_its_shards(void **state)
{
	struct host *h = *state;
	const Roar__TableReply *t;

	register_dataset(h);
	join(h, 1, "a");
	join(h, 2, "b");
	join(h, 3, "c");
	assert_int_equal(list(h, "a")->n_shards, 20);
	expect(h, ask_deregister(h, 2, "b"), COORD_OK);
	t = table(h); /* dealt by itself, now that somebody has asked */
	assert_int_equal(t->version, 2);
	assert_int_equal(t->moved, 20);
	assert_int_equal(t->minimum, 20);
	assert_int_equal(t->most, 30);
	assert_int_equal(t->least, 30);
	join(h, 4, "d");
	join(h, 5, "e");
	t = table(h);
	assert_int_equal(t->version, 4);
	assert_int_equal(t->moved, 15);
	assert_int_equal(t->minimum, 15);
	assert_int_equal(t->n_workers, 4);
}

static void a_dead_worker_keeps_its_shards_as_long_as_its_place(void **state)
{
	struct host *h = *state;

	register_dataset(h);
	join(h, 1, "a");
	join(h, 2, "b");
	assert_int_equal(list(h, "a")->n_shards, 30);
	for (int i = 0; i < 8; i++) {
		pass_ms(h, 5000);
		beat(h, 1, "a");
	}
	assert_int_equal(worker(h, "b")->state, ROAR__WORKER_VIEW__STATE__DEAD);
	assert_int_equal(list(h, "a")->n_shards, 30);
	for (int i = 0; i < 12; i++) {
		pass_ms(h, 5000);
		beat(h, 1, "a");
	}
	assert_null(worker(h, "b"));
	assert_int_equal(list(h, "a")->n_shards, SHARDS);
}

static void a_restart_finds_the_same_table(void **state)
{
	struct host *h = *state;
	uint64_t hash, version;

	register_dataset(h);
	join(h, 1, "a");
	join(h, 2, "b");
	join(h, 3, "c");
	(void)list(h, "a");
	expect(h, ask_deregister(h, 1, "a"), COORD_OK);
	join(h, 4, "d");
	hash = table(h)->hash;
	version = table(h)->version;
	host_restart(h);
	assert_int_equal(table(h)->hash, hash);
	assert_int_equal(table(h)->version, version);
	assert_int_equal(list(h, "d")->n_shards, 20);
}

static void a_deal_that_is_not_kept_is_not_made(void **state)
{
	struct host *h = *state;

	register_dataset(h);
	join(h, 1, "a");
	h->record_error = -28; /* ENOSPC */
	expect(h, ask_list(h, "a", 0, 0, 0), COORD_RESOURCE_EXHAUSTED);
	assert_int_equal(table(h)->version, 0);
	h->record_error = 0;
	assert_int_equal(list(h, "a")->version, 1);
}

/* ---- lists ---- */

static void lists_come_in_pages(void **state)
{
	struct host *h = *state;
	const Roar__ListShardsReply *m;
	int64_t n = 0;
	uint64_t after = 0, version;
	size_t pages = 0;

	register_dataset(h);
	join(h, 1, "a");
	join(h, 2, "b");
	join(h, 3, "c");
	m = list(h, "b");
	assert_int_equal(m->n_ranges, 1);
	assert_int_equal(m->ranges[0]->first, 20);
	assert_int_equal(m->ranges[0]->count, 20);
	assert_int_equal(m->total_shards, SHARDS);
	assert_int_equal(m->shard_size, 10);
	assert_int_equal(m->total_samples, SHARDS * 10 - 3);
	assert_int_equal(m->next, 0);
	expect(h, ask_deregister(h, 1, "a"), COORD_OK);
	expect(h, ask_deregister(h, 3, "c"), COORD_OK);
	join(h, 4, "d");
	version = list(h, "b")->version;
	do {
		m = MESSAGE(expect(h, ask_list(h, "b", after, version, 1),
				   COORD_OK),
			    Roar__ListShardsReply);
		assert_int_equal(m->n_ranges, 1);
		n += m->ranges[0]->count;
		after = m->next;
		pages++;
	} while (after && pages < SHARDS);
	assert_int_equal(n, m->n_shards);
	assert_true(pages > 1);
}

static void a_page_of_another_table_is_refused(void **state)
{
	struct host *h = *state;
	uint64_t version;

	register_dataset(h);
	join(h, 1, "a");
	join(h, 2, "b");
	version = list(h, "a")->version;
	expect(h, ask_list(h, "a", 5, version, 1), COORD_OK);
	expect(h, ask_list(h, "a", 55, version, 1), COORD_INVALID_ARGUMENT);
	expect(h, ask_list(h, "a", UINT64_MAX, 0, 1), COORD_INVALID_ARGUMENT);
	expect(h, ask_list(h, "a", 0, 0, -1), COORD_INVALID_ARGUMENT);
	join(h, 3, "c");
	expect_says(expect(h, ask_list(h, "a", 5, version, 1),
			   COORD_FAILED_PRECONDITION),
		    "from the start");
}

static void the_shards_of_another_are_refused(void **state)
{
	struct host *h = *state;
	Roar__ListShardsRequest m = ROAR__LIST_SHARDS_REQUEST__INIT;
	uint64_t session;

	register_dataset(h);
	join(h, 1, "a");
	session = join(h, 2, "b")->session;
	expect_says(expect(h, ask_shard(h, 1, "b", 0), COORD_PERMISSION_DENIED),
		    "another worker's connection");
	expect(h, ask_shard(h, 2, "b", 0), COORD_OK);
	expect(h, ask_shard(h, 7, "b", 0), COORD_OK); /* nobody's connection */
	m.worker_id = "b";
	m.dataset_id = "d";
	expect(h, ask(h, 1, "ListShards", &m), COORD_PERMISSION_DENIED);
	m.session = session + 1;
	expect(h, ask(h, 1, "ListShards", &m), COORD_FAILED_PRECONDITION);
	m.session = session;
	expect(h, ask(h, 1, "ListShards", &m), COORD_OK);
	m.dataset_id = "none";
	expect(h, ask(h, 1, "ListShards", &m), COORD_NOT_FOUND);
	/* Several workers of one process. */
	join(h, 1, "c");
	expect(h, ask_shard(h, 1, "c", 0), COORD_OK);
}

/* ---- watching ---- */

static void who_watches_hears_of_moves(void **state)
{
	struct host *h = *state;
	Roar__WatchRequest m = ROAR__WATCH_REQUEST__INIT;
	const Roar__WatchEvent *e = NULL;
	uint64_t call;

	register_dataset(h);
	join(h, 1, "a");
	join(h, 2, "b");
	m.shards = true;
	call = ask(h, 1, "Watch", &m);
	(void)list(h, "a");
	expect(h, ask_deregister(h, 2, "b"), COORD_OK);
	for (size_t i = 0; i < n_replies(h, call); i++) {
		const Roar__WatchEvent *x = MESSAGE(reply_at(h, call, i),
						    Roar__WatchEvent);

		if (x->kind == ROAR__WATCH_EVENT__KIND__SHARDS)
			e = x;
	}
	assert_non_null(e);
	assert_string_equal(e->table->dataset_id, "d");
	assert_int_equal(e->table->version, 2);
	assert_int_equal(e->table->moved, 30);
	assert_int_equal(e->table->n_workers, 1);
}

/* ---- epochs ---- */

static void epochs_only_go_on(void **state)
{
	struct host *h = *state;

	register_dataset(h);
	join(h, 1, "a");
	expect(h, ask_epoch(h, "a", 2), COORD_OK);
	expect(h, ask_epoch(h, "a", 2), COORD_OK);
	expect_says(expect(h, ask_epoch(h, "a", 1), COORD_FAILED_PRECONDITION),
		    "epoch 1 of dataset 'd' is over");
	expect(h, ask_epoch(h, "a", -1), COORD_INVALID_ARGUMENT);
	expect(h, ask_shard(h, 1, "a", 1), COORD_FAILED_PRECONDITION);
	expect(h, ask_shard(h, 1, "a", 2), COORD_OK);
	host_restart(h);
	assert_int_equal(list(h, "a")->epoch, 2);
	expect(h, ask_epoch(h, "a", 1), COORD_FAILED_PRECONDITION);
	expect(h, ask_epoch(h, "x", 3), COORD_NOT_FOUND);
}

/* ---- anything ---- */

/* Every shard has one owner, and nobody has two more than another. */
static void check_all(struct host *h, const bool here[])
{
	bool seen[SHARDS] = { false };
	int64_t most = 0, least = SHARDS, n = 0;
	char id[8];

	for (int w = 0; w < MAX_WORKERS; w++) {
		const Roar__ListShardsReply *m;

		if (!here[w])
			continue;
		snprintf(id, sizeof(id), "w%d", w);
		m = list(h, id);
		most = m->n_shards > most ? m->n_shards : most;
		least = m->n_shards < least ? m->n_shards : least;
		for (size_t i = 0; i < m->n_ranges; i++)
			for (int64_t s = 0; s < m->ranges[i]->count; s++) {
				int64_t shard = m->ranges[i]->first + s;

				assert_false(seen[shard]);
				seen[shard] = true;
				n++;
			}
	}
	if (n == 0)
		return;
	assert_int_equal(n, SHARDS);
	assert_true(most - least <= 1);
	assert_int_equal(table(h)->moved, table(h)->minimum);
}

static void whoever_comes_and_goes_all_shards_have_one_owner(void **state)
{
	struct host *h = *state;
	bool here[MAX_WORKERS] = { false };
	uint32_t seed = 11;
	char id[8];

	register_dataset(h);
	for (int i = 0; i < 120; i++) {
		uint32_t w = (seed = seed * 1664525 + 1013904223) >> 24;

		w %= MAX_WORKERS;
		snprintf(id, sizeof(id), "w%u", w);
		if (here[w])
			expect(h, ask_deregister(h, 100 + w, id), COORD_OK);
		else
			join(h, 100 + w, id);
		here[w] = !here[w];
		if (i % 3)
			check_all(h, here);
		if (i % 17 == 0)
			host_restart(h);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, host_setup, host_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(shards_are_dealt_when_somebody_asks),
		TEST(the_last_shard_may_be_shorter),
		TEST(who_leaves_moves_only_its_shards),
		TEST(a_dead_worker_keeps_its_shards_as_long_as_its_place),
		TEST(a_restart_finds_the_same_table),
		TEST(a_deal_that_is_not_kept_is_not_made),
		TEST(lists_come_in_pages),
		TEST(a_page_of_another_table_is_refused),
		TEST(the_shards_of_another_are_refused),
		TEST(who_watches_hears_of_moves),
		TEST(epochs_only_go_on),
		TEST(whoever_comes_and_goes_all_shards_have_one_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
