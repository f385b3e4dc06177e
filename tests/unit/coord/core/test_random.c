/* test_random.c - random requests, deaths, restarts, full disks and the end of memory.
 *
 * After each run the state must be the one that its records lead to, ranks must be
 * compact, epochs must not go back, and no call may have two last replies. */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"

enum {
	WORKERS = 6,
	CONNS = 12,
	STEPS = 400,
	RUNS = 60,
};

struct run {
	struct host *h;
	uint64_t seed;
	uint64_t conn; /* the youngest; they are never used again */
	uint64_t epoch; /* the highest that was told */
	uint64_t calls[64]; /* some that may wait */
};

static uint32_t dice(struct run *r, uint32_t n)
{
	r->seed = r->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(r->seed >> 33) % n;
}

static const char *some_id(struct run *r)
{
	static const char *const ids[] = { "a", "b", "c", "d", "e", "f" };

	return ids[dice(r, WORKERS)];
}

static uint64_t some_conn(struct run *r)
{
	return r->conn > CONNS ? r->conn - dice(r, CONNS) : r->conn;
}

static void remember(struct run *r, uint64_t call)
{
	r->calls[dice(r, 64)] = call;
}

/* ---- what may happen ---- */

static void do_join(struct run *r)
{
	ask_register(r->h, some_conn(r), some_id(r), 0);
}

static void do_beat(struct run *r)
{
	uint64_t call = ask_heartbeat(r->h, some_conn(r), some_id(r), 0);
	const struct reply *reply = reply_at(r->h, call, 0);
	uint64_t epoch;

	if (reply->status != COORD_OK)
		return;
	epoch = MESSAGE(reply, Coordinator__HeartbeatResponse)->world_epoch;
	assert_true(epoch >= r->epoch);
	r->epoch = epoch;
}

static void do_leave(struct run *r)
{
	if (dice(r, 4) == 0)
		ask_deregister(r->h, some_conn(r), some_id(r));
}

static void do_meet(struct run *r)
{
	static char *const groups[][3] = { { "a", "b" },
					   { "b", "a" },
					   { "c", "d", "e" } };
	Roar__MeetRequest m = ROAR__MEET_REQUEST__INIT;
	uint32_t group = dice(r, 8);

	m.worker_id = (char *)some_id(r);
	m.meeting_id = dice(r, 2) ? "x" : "y";
	m.kind = dice(r, 8) ? ROAR__MEET_KIND__GATHER : ROAR__MEET_KIND__VOTE;
	m.generation = dice(r, 2) ? dice(r, 6) : 0;
	m.on_death = dice(r, 4);
	m.value.data = (uint8_t *)"value";
	m.value.len = dice(r, 6);
	if (group < 3) {
		m.meeting_id = group < 2 ? "ab" : "cde";
		m.group = (char **)groups[group];
		m.n_group = group < 2 ? 2 : 3;
	}
	r->h->timeout_ms = dice(r, 3) ? 0 : 1 + dice(r, 20000);
	remember(r, ask(r->h, some_conn(r), "Meet", &m));
	r->h->timeout_ms = 0;
}

static void do_key(struct run *r)
{
	static char *const names[] = { "k", "l", "m/1", "m/2" };
	Roar__KvSetRequest set = ROAR__KV_SET_REQUEST__INIT;
	Roar__KvAddRequest add = ROAR__KV_ADD_REQUEST__INIT;
	Roar__KvDeleteRequest del = ROAR__KV_DELETE_REQUEST__INIT;
	Roar__KvGetRequest get = ROAR__KV_GET_REQUEST__INIT;
	uint64_t conn = some_conn(r);

	set.key = add.key = del.key = get.key = names[dice(r, 4)];
	set.ttl_ms = add.ttl_ms = dice(r, 2) ? dice(r, 30000) : 0;
	set.value.data = (uint8_t *)"17";
	set.value.len = 2;
	add.delta = 3;
	get.wait = true;
	get.after_version = dice(r, 40);
	switch (dice(r, 4)) {
	case 0:
		ask(r->h, conn, "KvSet", &set);
		break;
	case 1:
		ask(r->h, conn, "KvAdd", &add);
		break;
	case 2:
		ask(r->h, conn, "KvDelete", &del);
		break;
	default:
		remember(r, ask(r->h, conn, "KvGet", &get));
	}
}

static void do_word(struct run *r)
{
	Roar__CommandRequest command = ROAR__COMMAND_REQUEST__INIT;
	Roar__DrainRequest drain = ROAR__DRAIN_REQUEST__INIT;
	Roar__WatchRequest watch = ROAR__WATCH_REQUEST__INIT;
	char *id = (char *)some_id(r);

	command.command = "stop";
	drain.worker_ids = &id;
	drain.n_worker_ids = 1;
	watch.worker_id = id;
	watch.keys = dice(r, 2);
	switch (dice(r, 3)) {
	case 0:
		ask(r->h, some_conn(r), "SendCommand", &command);
		break;
	case 1:
		ask(r->h, some_conn(r), "Drain", &drain);
		break;
	default:
		remember(r, ask(r->h, some_conn(r), "Watch", &watch));
	}
}

static void do_commit(struct run *r, Coordinator__CheckpointInfo *info)
{
	Roar__CommitRequest m = ROAR__COMMIT_REQUEST__INIT;
	uint8_t digest[32] = { 0 };

	m.info = info;
	info->step = dice(r, 70);
	info->checkpoint_id = dice(r, 9) ? "s" : "t";
	m.session = session_of(r->h, info->worker_id);
	switch (dice(r, 8)) {
	case 0:
		m.failure = "no";
		break;
	case 1:
	case 2:
		m.manifest.data = digest;
		m.manifest.len = sizeof(digest);
		break;
	default:
		m.part.data = digest;
		m.part.len = sizeof(digest);
	}
	remember(r, ask(r->h, some_conn(r), "CommitCheckpoint", &m));
}

static void do_save(struct run *r)
{
	Coordinator__CheckpointInfo m = COORDINATOR__CHECKPOINT_INFO__INIT;
	Coordinator__DatasetInfo d = COORDINATOR__DATASET_INFO__INIT;

	m.worker_id = (char *)some_id(r);
	m.checkpoint_id = "c";
	m.step = dice(r, 100);
	ask(r->h, some_conn(r), "NotifyCheckpoint", &m);
	do_commit(r, &m);
	d.dataset_id = (char *)some_id(r);
	d.shard_size = 1 + dice(r, 2);
	d.total_samples = 10;
	ask(r->h, some_conn(r), "RegisterDataset", &d);
}

static void do_shards(struct run *r)
{
	Roar__ListShardsRequest list = ROAR__LIST_SHARDS_REQUEST__INIT;
	Coordinator__ShardRequest one = COORDINATOR__SHARD_REQUEST__INIT;
	Roar__AdvanceEpochRequest epoch = ROAR__ADVANCE_EPOCH_REQUEST__INIT;

	list.worker_id = one.worker_id = epoch.worker_id = (char *)some_id(r);
	list.dataset_id = one.dataset_id = epoch.dataset_id = (char *)some_id(r);
	one.epoch = epoch.epoch = dice(r, 6);
	epoch.abandon = dice(r, 2);
	if (dice(r, 2))
		list.session = epoch.session = session_of(r->h, list.worker_id);
	ask(r->h, some_conn(r), "ListShards", &list);
	ask(r->h, some_conn(r), "GetDataShard", &one);
	if (dice(r, 4) == 0)
		ask(r->h, some_conn(r), "AdvanceEpoch", &epoch);
}

static void do_lease(struct run *r)
{
	Roar__TakeLeaseRequest take = ROAR__TAKE_LEASE_REQUEST__INIT;
	Roar__UseLeaseRequest use = ROAR__USE_LEASE_REQUEST__INIT;
	Roar__ConsumedReport report = ROAR__CONSUMED_REPORT__INIT;
	Roar__PositionRange range = ROAR__POSITION_RANGE__INIT;
	Roar__PositionRange *ranges = &range;

	take.worker_id = use.worker_id = report.worker_id = (char *)some_id(r);
	take.dataset_id = use.dataset_id = report.dataset_id = (char *)some_id(
		r);
	take.epoch = use.epoch = report.epoch = dice(r, 3);
	take.mode = dice(r, 3) == 0;
	take.chunk = 3;
	take.timeout_ms = 5000;
	take.request = dice(r, 4);
	if (dice(r, 4))
		take.session = use.session = report.session = session_of(
			r->h, take.worker_id);
	ask(r->h, some_conn(r), "TakeLease", &take);
	use.lease_id = 1 + dice(r, 12);
	use.consumed_to = dice(r, 11);
	use.give_back = dice(r, 5) == 0;
	ask(r->h, some_conn(r), "UseLease", &use);
	range.first = dice(r, 5);
	range.end = range.first + dice(r, 5);
	report.ranges = &ranges;
	report.n_ranges = 1;
	if (dice(r, 3) == 0)
		ask(r->h, some_conn(r), "ReportConsumed", &report);
}

static void do_settings(struct run *r)
{
	Roar__JobSettings s = ROAR__JOB_SETTINGS__INIT;

	s.on_death = dice(r, 4);
	s.min_workers = dice(r, 3);
	s.timeout_ms = dice(r, 2) ? 12000 : 30000;
	ask(r->h, some_conn(r), "Configure", &s);
}

static void do_connection(struct run *r)
{
	r->conn++;
	gone(r->h, some_conn(r));
}

static void do_cancel(struct run *r)
{
	coord_cancel(r->h->c, r->h->now, r->calls[dice(r, 64)]);
}

static void do_time(struct run *r)
{
	pass_ms(r->h, dice(r, 10) ? dice(r, 3000) : dice(r, 40000));
}

static void do_restart(struct run *r)
{
	if (dice(r, 10) == 0)
		host_restart(r->h);
}

static void do_disk(struct run *r)
{
	r->h->record_error = dice(r, 4) ? 0 : -28;
}

static void (*const acts[])(struct run *) = {
	do_join,     do_join,	    do_beat,   do_beat,	   do_beat,   do_beat,
	do_leave,    do_meet,	    do_meet,   do_meet,	   do_meet,   do_meet,
	do_key,	     do_key,	    do_word,   do_save,	   do_time,   do_time,
	do_settings, do_connection, do_cancel, do_restart, do_shards, do_shards,
	do_lease,    do_lease,
};

/* ---- what must hold ---- */

static void check_ranks(struct run *r)
{
	Roar__ListWorkersRequest m = ROAR__LIST_WORKERS_REQUEST__INIT;
	const struct reply *reply;
	const Roar__ListWorkersReply *list;

	reply = reply_at(r->h, ask(r->h, 0, "ListWorkers", &m), 0);
	if (reply->status != COORD_OK)
		return;
	list = MESSAGE(reply, Roar__ListWorkersReply);
	for (size_t i = 0; i < list->n_workers; i++)
		assert_int_equal(list->workers[i]->rank, i);
}

static void check_once(const struct host *h)
{
	uint8_t *ended = calloc(h->last_call + 1, 1);

	assert_non_null(ended);
	for (size_t i = 0; i < h->n_replies; i++) {
		const struct reply *r = &h->replies[i];

		assert_false(ended[r->call]);
		ended[r->call] = r->status != COORD_MORE;
	}
	free(ended);
}

static void run(uint64_t seed, void (*disturb)(struct run *),
		void (*restore)(void))
{
	struct run r = { .h = host_new(NULL), .seed = seed, .conn = 1 };

	for (int i = 0; i < STEPS; i++) {
		void (*act)(struct run *) =
			acts[dice(&r, sizeof(acts) / sizeof(acts[0]))];

		if (disturb && act != do_restart)
			disturb(&r);
		act(&r);
		if (restore)
			restore();
		if (i % 50 == 0) {
			host_check_replay(r.h);
			check_ranks(&r);
		}
	}
	host_check_replay(r.h);
	check_once(r.h);
	host_free(r.h);
}

static void any_order_of_requests_can_be_replayed(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= RUNS; seed++)
		run(seed, NULL, NULL);
}

static void a_full_disk_changes_nothing(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= RUNS; seed++)
		run(seed * 7919, do_disk, NULL);
}

static void little_memory(struct run *r)
{
	if (dice(r, 4) == 0)
		alloc_fail_after((int)dice(r, 6));
}

static void no_memory_changes_nothing(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= RUNS; seed++)
		run(seed * 104729, little_memory, alloc_fail_never);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order_of_requests_can_be_replayed),
		cmocka_unit_test(a_full_disk_changes_nothing),
		cmocka_unit_test(no_memory_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
