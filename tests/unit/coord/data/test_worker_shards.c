/* test_worker_shards.c - who has which shards, as workers come and go. */
#include "host.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "shard/deal/table_history.h"

enum { SHARDS = 60, MAX_WORKERS = 12 };

static void register_shards(struct host *h, int64_t n)
{
	Coordinator__DatasetInfo m = COORDINATOR__DATASET_INFO__INIT;

	m.dataset_id = "d";
	m.path = "/data/d";
	m.total_samples = n * 10 - 3;
	m.shard_size = 10;
	expect(h, ask(h, 99, "RegisterDataset", &m), COORD_OK);
}

static void register_dataset(struct host *h)
{
	register_shards(h, SHARDS);
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
	m.session = session_of(h, id);
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
	m.session = session_of(h, id);
	m.dataset_id = "d";
	m.epoch = epoch;
	m.abandon = true;
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

/* A worker comes or goes, and shards move. */
static void flip(struct host *h, int who, bool here[])
{
	char id[16];

	(void)snprintf(id, sizeof(id), "w%d", who);
	here[who] = !here[who];
	if (here[who])
		join(h, 0, id);
	else
		expect(h, ask_deregister(h, 0, id), COORD_OK);
}

/* What all who are there have, as ranges: their order is part of it. */
static void list_all(struct host *h, const bool here[], struct str *ret)
{
	for (int i = 0; i < MAX_WORKERS; i++) {
		const Roar__ListShardsReply *m;
		char id[16];

		if (!here[i])
			continue;
		(void)snprintf(id, sizeof(id), "w%d", i);
		m = list(h, id);
		for (size_t k = 0; k < m->n_ranges; k++)
			str_addf(ret, "%s %d+%d\n", id,
				 (int)m->ranges[k]->first,
				 (int)m->ranges[k]->count);
	}
}

/* The snapshot has no shards: the table is dealt again. */
static void a_snapshot_leads_to_the_same_table(void **state)
{
	struct host *h = *state;
	CLEANUP(str_release) struct str before = STR_INIT;
	CLEANUP(str_release) struct str after = STR_INIT;
	bool here[MAX_WORKERS] = { false };
	Roar__TableReply t;

	register_dataset(h);
	for (int i = 0; i < 60; i++) {
		flip(h, i * 7 % MAX_WORKERS, here);
		if (i == 5)
			list_all(h, here, &before); /* dealt from now on */
	}
	str_clear(&before);
	list_all(h, here, &before);
	t = *table(h);
	host_restore(h);
	assert_int_equal(table(h)->version, t.version);
	assert_int_equal(table(h)->hash, t.hash);
	list_all(h, here, &after);
	assert_string_equal(str_cstr(&after), str_cstr(&before));
	flip(h, 3, here); /* and goes on */
	assert_int_equal(table(h)->moved, table(h)->minimum);
}

/* Who has left since the last deal is in the table under a name that nobody has any more. */
static void a_snapshot_between_a_leave_and_its_deal(void **state)
{
	struct host *h = *state;
	uint64_t version, hash;

	register_dataset(h);
	join(h, 1, "a");
	join(h, 2, "b");
	assert_int_equal(list(h, "a")->n_shards, 30);
	h->refused = ROAR__RECORD__RECORD__WHAT_DEAL;
	expect(h, ask_deregister(h, 2, "b"), COORD_OK);
	join(h, 3, "c");
	version = table(h)->version;
	hash = table(h)->hash;
	host_restore(h);
	assert_int_equal(table(h)->version, version);
	assert_int_equal(table(h)->hash, hash);
	h->refused = 0;
	assert_int_equal(list(h, "c")->n_shards, 30);
	assert_int_equal(table(h)->moved, 30);
}

static size_t snapshot_size(int64_t n_shards)
{
	CLEANUP(str_release) struct str snapshot = STR_INIT;
	bool here[MAX_WORKERS] = { false };
	struct coord_limits limits = { 0 };
	struct host *h = host_new(&limits);

	register_shards(h, n_shards);
	for (int i = 0; i < MAX_WORKERS; i++)
		flip(h, i, here);
	(void)list(h, "w0");
	for (int i = 0; i < 200; i++)
		flip(h, i * 7 % MAX_WORKERS, here);
	host_snapshot(h->c, &snapshot);
	host_free(h);
	return snapshot.len;
}

/* After changes each worker has its shards in many pieces, and none is in the snapshot. */
static void a_snapshot_is_as_small_for_many_shards(void **state)
{
	size_t few = snapshot_size(1000), many = snapshot_size(1000000);

	(void)state;
	assert_in_range(many, few, few + 32); /* the numbers are longer */
	assert_true(many < 8192);
}

static size_t n_deals_anew(const struct host *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_records; i++) {
		Roar__Record__Record *r = roar__record__record__unpack(
			NULL, h->records[i].len, h->records[i].data);

		n += r->what_case == ROAR__RECORD__RECORD__WHAT_DEAL &&
		     r->deal->anew;
		roar__record__record__free_unpacked(r, NULL);
	}
	return n;
}

/* To deal all of that again would take too long, so the table begins anew. */
static void after_very_many_changes_shards_are_dealt_anew(void **state)
{
	struct host *h = *state;
	const int most = SHARD_HISTORY_STEPS / SHARD_HISTORY_MIN_STEPS;
	uint64_t hash;

	register_dataset(h);
	join(h, 1, "a");
	join(h, 2, "b");
	(void)list(h, "a");
	for (int i = 0; i < most; i++) /* an even number */
		(void)(i % 2 ? ask_deregister(h, 3, "c") :
			       ask_register(h, 3, "c", 0));
	assert_int_equal(table(h)->version, most + 1);
	assert_int_equal(table(h)->moved, table(h)->minimum);
	expect(h, ask_deregister(h, 1, "a"), COORD_OK);
	join(h, 4, "d");
	join(h, 5, "e");
	assert_int_equal(table(h)->version, most + 4);
	assert_int_equal(n_deals_anew(h), 1);
	hash = table(h)->hash;
	host_restore(h);
	assert_int_equal(table(h)->hash, hash);
}

/* The next leader has to deal all tables again, in the time that one would have. */
static void many_datasets_have_shorter_histories(void **state)
{
	struct host *h = *state;
	Coordinator__DatasetInfo m = COORDINATOR__DATASET_INFO__INIT;
	char id[16];

	register_dataset(h);
	m.dataset_id = id;
	m.total_samples = m.shard_size = 1;
	for (int i = 1; i < 512; i++) {
		(void)snprintf(id, sizeof(id), "d%d", i);
		expect(h, ask(h, 99, "RegisterDataset", &m), COORD_OK);
	}
	join(h, 1, "a");
	join(h, 2, "b");
	(void)list(h, "a");
	for (int i = 0; i < 126; i++)
		(void)(i % 2 ? ask_deregister(h, 3, "c") :
			       ask_register(h, 3, "c", 0));
	assert_int_equal(n_deals_anew(h), 0);
	for (int i = 0; i < 4; i++)
		(void)(i % 2 ? ask_deregister(h, 3, "c") :
			       ask_register(h, 3, "c", 0));
	assert_int_equal(n_deals_anew(h), 1);
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
	expect(h, ask(h, 2, "ListShards", &m), COORD_OK);
	expect_says(expect(h, ask(h, 7, "ListShards", &m),
			   COORD_PERMISSION_DENIED),
		    "send the session");
	expect(h, ask(h, 0, "ListShards", &m), COORD_PERMISSION_DENIED);
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

/* Whoever names a worker in a heartbeat need not be it. */
static void a_heartbeat_proves_nothing(void **state)
{
	struct host *h = *state;
	Roar__ListShardsRequest m = ROAR__LIST_SHARDS_REQUEST__INIT;
	Roar__AdvanceEpochRequest epoch = ROAR__ADVANCE_EPOCH_REQUEST__INIT;
	Roar__ConsumedReport report = ROAR__CONSUMED_REPORT__INIT;

	register_dataset(h);
	join(h, 1, "a");
	beat(h, 7, "a");
	m.worker_id = epoch.worker_id = report.worker_id = "a";
	m.dataset_id = epoch.dataset_id = report.dataset_id = "d";
	expect(h, ask(h, 7, "ListShards", &m), COORD_PERMISSION_DENIED);
	expect(h, ask(h, 7, "AdvanceEpoch", &epoch), COORD_PERMISSION_DENIED);
	expect(h, ask(h, 7, "ReportConsumed", &report),
	       COORD_PERMISSION_DENIED);
	expect(h, ask_register(h, 7, "a", 0), COORD_ALREADY_EXISTS);
	expect(h, ask(h, 1, "ListShards", &m), COORD_OK);
	/* It has another connection now. */
	expect(h, ask_register(h, 8, "a", session_of(h, "a")), COORD_OK);
	expect(h, ask(h, 8, "ListShards", &m), COORD_OK);
	expect(h, ask(h, 1, "ListShards", &m), COORD_PERMISSION_DENIED);
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

/* ---- what was consumed ---- */

static uint64_t ask_report(struct host *h, int64_t epoch, int64_t first,
			   int64_t end)
{
	Roar__ConsumedReport m = ROAR__CONSUMED_REPORT__INIT;
	Roar__PositionRange range = ROAR__POSITION_RANGE__INIT;
	Roar__PositionRange *ranges = &range;

	range.first = first;
	range.end = end;
	m.worker_id = "a";
	m.session = session_of(h, "a");
	m.dataset_id = "d";
	m.epoch = epoch;
	m.ranges = &ranges;
	m.n_ranges = 1;
	return ask(h, 0, "ReportConsumed", &m);
}

static const Roar__ConsumedReply *report(struct host *h, int64_t first,
					 int64_t end)
{
	return MESSAGE(expect(h, ask_report(h, 0, first, end), COORD_OK),
		       Roar__ConsumedReply);
}

static const Roar__ConsumedReply *consumed(struct host *h, bool missing,
					   int64_t after, int32_t limit)
{
	Roar__ConsumedRequest m = ROAR__CONSUMED_REQUEST__INIT;

	m.dataset_id = "d";
	m.missing = missing;
	m.after = after;
	m.limit = limit;
	return MESSAGE(expect(h, ask(h, 0, "GetConsumed", &m), COORD_OK),
		       Roar__ConsumedReply);
}

static void what_was_consumed_is_known_after_a_restart(void **state)
{
	struct host *h = *state;
	const Roar__ConsumedReply *m;

	register_dataset(h);
	join(h, 1, "a");
	assert_int_equal(report(h, 0, 100)->n_new, 100);
	m = report(h, 50, 150);
	assert_int_equal(m->n_new, 50);
	assert_int_equal(m->n_repeated, 50);
	assert_int_equal(report(h, 300, 400)->consumed, 250);
	host_restart(h);
	m = consumed(h, false, 0, 0);
	assert_int_equal(m->consumed, 250);
	assert_int_equal(m->total, SHARDS * 10 - 3);
	assert_int_equal(m->n_ranges, 2);
	assert_int_equal(m->ranges[1]->first, 300);
	m = consumed(h, true, 0, 1);
	assert_int_equal(m->ranges[0]->first, 150);
	assert_int_equal(m->ranges[0]->end, 300);
	assert_int_equal(m->next, 400);
	m = consumed(h, true, m->next, 1);
	assert_int_equal(m->ranges[0]->end, SHARDS * 10 - 3);
	assert_int_equal(m->next, 0);
}

static void reports_of_another_epoch_are_refused(void **state)
{
	struct host *h = *state;

	register_dataset(h);
	join(h, 1, "a");
	report(h, 0, 10);
	expect(h, ask_report(h, 1, 0, 10), COORD_FAILED_PRECONDITION);
	expect(h, ask_epoch(h, "a", 1), COORD_OK);
	assert_int_equal(consumed(h, false, 0, 0)->consumed, 0);
	expect(h, ask_report(h, 0, 0, 10), COORD_FAILED_PRECONDITION);
	expect(h, ask_report(h, 1, -1, 10), COORD_INVALID_ARGUMENT);
	expect(h, ask_report(h, 1, 10, 9), COORD_INVALID_ARGUMENT);
	expect(h, ask_report(h, 1, 0, SHARDS * 10), COORD_INVALID_ARGUMENT);
	expect(h, ask_report(h, 1, 0, INT64_MAX), COORD_INVALID_ARGUMENT);
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

/* ---- numbers of places ---- */

/* By the record of the last that joined. */
static uint32_t last_slot(const struct host *h)
{
	for (size_t i = h->n_records; i-- > 0;) {
		Roar__Record__Record *r = roar__record__record__unpack(
			NULL, h->records[i].len, h->records[i].data);
		bool found = r->what_case == ROAR__RECORD__RECORD__WHAT_JOIN;
		uint32_t slot = found ? r->join->slot : UINT32_MAX;

		roar__record__record__free_unpacked(r, NULL);
		if (found)
			return slot;
	}
	return UINT32_MAX;
}

static void give_up(struct host *h, const char *id)
{
	Roar__LeaveRequest m = ROAR__LEAVE_REQUEST__INIT;

	m.worker_id = (char *)id;
	expect(h, ask(h, 99, "Leave", &m), COORD_OK);
}

static void a_place_gets_the_lowest_number_that_is_free(void **state)
{
	struct host *h = *state;
	uint32_t first;

	join(h, 1, "a");
	first = last_slot(h);
	join(h, 2, "b");
	join(h, 3, "c");
	assert_int_equal(last_slot(h), first + 2);
	give_up(h, "b");
	give_up(h, "a");
	join(h, 4, "d");
	assert_int_equal(last_slot(h), first);
	join(h, 5, "e");
	assert_int_equal(last_slot(h), first + 1);
	join(h, 6, "f");
	assert_int_equal(last_slot(h), first + 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_place_gets_the_lowest_number_that_is_free),
		TEST(shards_are_dealt_when_somebody_asks),
		TEST(the_last_shard_may_be_shorter),
		TEST(who_leaves_moves_only_its_shards),
		TEST(a_dead_worker_keeps_its_shards_as_long_as_its_place),
		TEST(a_restart_finds_the_same_table),
		TEST(a_snapshot_leads_to_the_same_table),
		TEST(a_snapshot_between_a_leave_and_its_deal),
		TEST(a_snapshot_is_as_small_for_many_shards),
		TEST(after_very_many_changes_shards_are_dealt_anew),
		TEST(many_datasets_have_shorter_histories),
		TEST(a_deal_that_is_not_kept_is_not_made),
		TEST(lists_come_in_pages),
		TEST(a_page_of_another_table_is_refused),
		TEST(the_shards_of_another_are_refused),
		TEST(a_heartbeat_proves_nothing),
		TEST(who_watches_hears_of_moves),
		TEST(what_was_consumed_is_known_after_a_restart),
		TEST(reports_of_another_epoch_are_refused),
		TEST(whoever_comes_and_goes_all_shards_have_one_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
