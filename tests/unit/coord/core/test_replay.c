/* test_replay.c - records that make no sense, lists, the table of methods, size. */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "shard/lease/lease.h"

typedef Roar__Record__Record Record;

/* Neither accepted nor half done. */
static void refused(struct host *h, const Record *record)
{
	struct str before = STR_INIT, after = STR_INIT;

	host_snapshot(h->c, &before);
	assert_int_equal(coord_replay(h->c, record), -74 /* EBADMSG */);
	host_snapshot(h->c, &after);
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.data, after.data, before.len);
	str_release(&before);
	str_release(&after);
}

#define REFUSED(h, name, CASE, message)                                \
	do {                                                           \
		Record record_ = ROAR__RECORD__RECORD__INIT;           \
		record_.what_case = ROAR__RECORD__RECORD__WHAT_##CASE; \
		record_.name = (message);                              \
		refused(h, &record_);                                  \
	} while (0)

static void places_that_make_no_sense_are_refused(void **state)
{
	struct host *h = *state;
	Coordinator__WorkerInfo info = COORDINATOR__WORKER_INFO__INIT;
	Roar__Record__Join join_ = ROAR__RECORD__JOIN__INIT;
	Roar__Record__Death death = ROAR__RECORD__DEATH__INIT;
	Roar__Record__Leave leave = ROAR__RECORD__LEAVE__INIT;
	Record empty = ROAR__RECORD__RECORD__INIT;
	char huge[300];

	join(h, 1, "a");
	refused(h, &empty);
	join_.job_id = "default";
	join_.session = join_.incarnation = 1;
	REFUSED(h, join, JOIN, &join_);
	join_.info = &info;
	REFUSED(h, join, JOIN, &join_);
	info.worker_id = "b";
	join_.rank = 2; /* 1 is next */
	REFUSED(h, join, JOIN, &join_);
	join_.rank = -1;
	REFUSED(h, join, JOIN, &join_);
	join_.rank = 1;
	join_.session = 0;
	REFUSED(h, join, JOIN, &join_);
	join_.session = 1;
	join_.job_id = "nowhere";
	REFUSED(h, join, JOIN, &join_);
	join_.job_id = "default";
	memset(huge, 'x', sizeof(huge) - 1);
	huge[299] = '\0';
	info.worker_id = huge;
	REFUSED(h, join, JOIN, &join_);
	info.worker_id = "a"; /* has it, and this is no successor */
	join_.rank = 0;
	REFUSED(h, join, JOIN, &join_);
	death.job_id = leave.job_id = "default";
	death.worker_id = leave.worker_id = "b";
	REFUSED(h, death, DEATH, &death);
	REFUSED(h, leave, LEAVE, &leave);
}

static void other_records_that_make_no_sense_are_refused(void **state)
{
	struct host *h = *state;
	Roar__JobSettings settings = ROAR__JOB_SETTINGS__INIT;
	Roar__Record__Job job = ROAR__RECORD__JOB__INIT;
	Roar__Record__JobGone gone_ = ROAR__RECORD__JOB_GONE__INIT;
	Roar__Record__Release release = ROAR__RECORD__RELEASE__INIT;
	Roar__Record__Key key = ROAR__RECORD__KEY__INIT;
	Roar__Record__KeyGone key_gone = ROAR__RECORD__KEY_GONE__INIT;
	Roar__Record__CommandsTold told = ROAR__RECORD__COMMANDS_TOLD__INIT;
	Roar__Record__Dataset dataset = ROAR__RECORD__DATASET__INIT;
	Roar__Record__Checkpoint part = ROAR__RECORD__CHECKPOINT__INIT;
	Roar__Record__World world = ROAR__RECORD__WORLD__INIT;
	Roar__Record__Drain drain = ROAR__RECORD__DRAIN__INIT;
	Roar__Record__Command command = ROAR__RECORD__COMMAND__INIT;

	join(h, 1, "a");
	job.job_id = gone_.job_id = release.job_id = key.job_id =
		key_gone.job_id = told.job_id = dataset.job_id = part.job_id =
			world.job_id = drain.job_id = command.job_id = "default";
	REFUSED(h, job, JOB, &job);
	job.settings = &settings;
	REFUSED(h, job, JOB, &job);
	REFUSED(h, job_gone, JOB_GONE, &gone_);
	release.meeting_id = "x";
	release.generation = 1;
	REFUSED(h, release, RELEASE, &release);
	key.key = key_gone.key = "k";
	REFUSED(h, key, KEY, &key);
	REFUSED(h, key_gone, KEY_GONE, &key_gone);
	told.worker_id = "a";
	told.n = 1;
	REFUSED(h, commands_told, COMMANDS_TOLD, &told);
	REFUSED(h, dataset, DATASET, &dataset);
	REFUSED(h, checkpoint, CHECKPOINT, &part);
	REFUSED(h, world, WORLD, &world);
	REFUSED(h, drain, DRAIN, &drain);
	REFUSED(h, command, COMMAND, &command);
}

static void tables_that_make_no_sense_are_refused(void **state)
{
	struct host *h = *state;
	Coordinator__DatasetInfo info = COORDINATOR__DATASET_INFO__INIT;
	Roar__Record__Dataset dataset = ROAR__RECORD__DATASET__INIT;
	Roar__Record__Deal deal = ROAR__RECORD__DEAL__INIT;
	Roar__Record__ShardTable table = ROAR__RECORD__SHARD_TABLE__INIT;
	Roar__Record__Epoch epoch = ROAR__RECORD__EPOCH__INIT;

	dataset.job_id = deal.job_id = table.job_id = epoch.job_id = "default";
	deal.dataset_id = table.dataset_id = epoch.dataset_id = "d";
	join(h, 1, "a");
	deal.version = 1;
	epoch.epoch = 1;
	REFUSED(h, deal, DEAL, &deal);
	REFUSED(h, epoch, EPOCH, &epoch);
	REFUSED(h, shard_table, SHARD_TABLE, &table);
	info.dataset_id = "d";
	info.total_samples = 4;
	info.shard_size = 1;
	expect(h, ask(h, 1, "RegisterDataset", &info), COORD_OK);
	deal.version = 2; /* 1 is next */
	REFUSED(h, deal, DEAL, &deal);
	deal.version = 1;
	deal.hash = 5; /* of another table */
	REFUSED(h, deal, DEAL, &deal);
	epoch.epoch = 0;
	REFUSED(h, epoch, EPOCH, &epoch);
	table.version = 1;
	table.hash = 1;
	REFUSED(h, shard_table, SHARD_TABLE, &table);
	table.deals.data =
		(uint8_t *)"\0\1\0\0"; /* to a alone, and which table? */
	table.deals.len = 4;
	table.n_workers = 1;
	REFUSED(h, shard_table, SHARD_TABLE, &table);
	info.dataset_id = "huge";
	info.total_samples = INT64_MAX;
	dataset.info = &info;
	REFUSED(h, dataset, DATASET, &dataset);
}

static void leases_that_make_no_sense_are_refused(void **state)
{
	struct host *h = *state;
	Coordinator__DatasetInfo info = COORDINATOR__DATASET_INFO__INIT;
	Roar__Record__Consumed consumed = ROAR__RECORD__CONSUMED__INIT;
	Roar__Record__Lending lending = ROAR__RECORD__LENDING__INIT;
	Roar__Record__LeaseTaken taken = ROAR__RECORD__LEASE_TAKEN__INIT;
	Roar__Record__LeaseUsed used = ROAR__RECORD__LEASE_USED__INIT;

	consumed.job_id = lending.job_id = taken.job_id = used.job_id = "default";
	consumed.dataset_id = lending.dataset_id = taken.dataset_id =
		used.dataset_id = "d";
	taken.worker_id = used.worker_id = "a";
	join(h, 1, "a");
	info.dataset_id = "d";
	info.total_samples = 4;
	info.shard_size = 1;
	expect(h, ask(h, 1, "RegisterDataset", &info), COORD_OK);
	REFUSED(h, consumed, CONSUMED, &consumed);
	REFUSED(h, lease_taken, LEASE_TAKEN, &taken);
	REFUSED(h, lease_used, LEASE_USED, &used);
	REFUSED(h, lending, LENDING, &lending); /* of pieces of 0 */
	lending.chunk = 1;
	REFUSED(h, lending, LENDING, &lending); /* for no time */
	lending.timeout_ms = 1;
	lending.state.data = (uint8_t *)"RLS1"; /* and no more */
	lending.state.len = 4;
	REFUSED(h, lending, LENDING, &lending);
	lending.dataset_id = "none";
	REFUSED(h, lending, LENDING, &lending);
}

/* Three leases of `total` positions, of which the first `n_ended` have ended. */
static void encode_leases(uint64_t total, uint64_t n_ended, struct str *ret)
{
	struct lease_spec spec = { total, 1, 1, LEASE_EXACTLY_ONCE };
	struct leases l;
	struct lease lease;

	assert_int_equal(leases_init(&l, &spec, NULL, NULL), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(leases_take(&l, 0, 0, 0, &lease), 0);
	for (uint64_t id = 1; id <= n_ended; id++)
		assert_int_equal(leases_progress(&l, id, 0, 1, NULL), 0);
	leases_encode(&l, ret);
	leases_release(&l);
	assert_int_equal(str_error(ret), 0);
}

static void set_state(Roar__Record__LentBefore *m, const struct str *state)
{
	m->state.data = (uint8_t *)state->data;
	m->state.len = state->len;
}

static void go_on(struct host *h, int64_t epoch)
{
	Roar__AdvanceEpochRequest m = ROAR__ADVANCE_EPOCH_REQUEST__INIT;

	m.worker_id = "a";
	m.session = session_of(h, "a");
	m.dataset_id = "d";
	m.epoch = epoch;
	expect(h, ask(h, 1, "AdvanceEpoch", &m), COORD_OK);
}

static void what_was_lent_before_is_over_and_told_once(void **state)
{
	struct host *h = *state;
	CLEANUP(str_release) struct str good = STR_INIT;
	CLEANUP(str_release) struct str open = STR_INIT;
	CLEANUP(str_release) struct str other = STR_INIT;
	Coordinator__DatasetInfo info = COORDINATOR__DATASET_INFO__INIT;
	Roar__Record__LentBefore m = ROAR__RECORD__LENT_BEFORE__INIT;
	Record record = ROAR__RECORD__RECORD__INIT;

	encode_leases(4, 3, &good);
	encode_leases(4, 2, &open);
	encode_leases(5, 3, &other);
	m.job_id = "default";
	m.dataset_id = "d";
	join(h, 1, "a");
	info.dataset_id = "d";
	info.total_samples = 4;
	info.shard_size = 1;
	expect(h, ask(h, 1, "RegisterDataset", &info), COORD_OK);
	set_state(&m, &good);
	REFUSED(h, lent_before, LENT_BEFORE, &m); /* there was none before */
	go_on(h, 1);
	set_state(&m, &open);
	REFUSED(h, lent_before, LENT_BEFORE, &m);
	set_state(&m, &other);
	REFUSED(h, lent_before, LENT_BEFORE, &m);
	m.state.len--;
	REFUSED(h, lent_before, LENT_BEFORE, &m);
	set_state(&m, &good);
	m.dataset_id = "none";
	REFUSED(h, lent_before, LENT_BEFORE, &m);
	m.dataset_id = "d";
	record.what_case = ROAR__RECORD__RECORD__WHAT_LENT_BEFORE;
	record.lent_before = &m;
	assert_int_equal(coord_replay(h->c, &record), 0);
	REFUSED(h, lent_before, LENT_BEFORE, &m);
	go_on(h, 2); /* that is not in the log, and must not stay */
}

static void a_place_has_a_number_that_is_free(void **state)
{
	struct host *h = *state;
	Coordinator__WorkerInfo info = COORDINATOR__WORKER_INFO__INIT;
	Roar__Record__Join join_ = ROAR__RECORD__JOIN__INIT;

	join(h, 1, "a");
	info.worker_id = "b";
	join_.job_id = "default";
	join_.info = &info;
	join_.session = join_.incarnation = join_.rank = 1;
	join_.slot = 1; /* that of "a" */
	REFUSED(h, join, JOIN, &join_);
	join_.slot = UINT32_MAX;
	REFUSED(h, join, JOIN, &join_);
}

static void the_table_of_methods_is_in_order(void **state)
{
	(void)state;
	assert_int_equal(coord_n_methods, 36);
	for (uint16_t i = 1; i <= coord_n_methods; i++) {
		const struct coord_method *m = coord_method_by_number(i);

		assert_int_equal(m->number, i);
		assert_ptr_equal(coord_method_by_path(m->path, strlen(m->path)),
				 m);
	}
	assert_null(coord_method_by_number(0));
	assert_null(coord_method_by_number(37));
	assert_null(coord_method_by_path("/roar.Control/Stopp", 19));
	assert_string_equal(coord_method_by_number(METHOD_STOP)->path,
			    "/roar.Control/Stop");
	assert_string_equal(coord_method_by_number(METHOD_GET_STATUS)->path,
			    "/roar.Control/GetStatus");
}

static void workers_are_listed_by_pages(void **state)
{
	struct host *h = *state;
	Roar__ListWorkersRequest m = ROAR__LIST_WORKERS_REQUEST__INIT;
	Roar__StatusRequest status = ROAR__STATUS_REQUEST__INIT;
	Roar__StopRequest stop = ROAR__STOP_REQUEST__INIT;
	const Roar__ListWorkersReply *list;
	char id[8];

	for (int i = 0; i < 5; i++) {
		snprintf(id, sizeof(id), "w%d", i);
		join(h, 1, id);
	}
	list = MESSAGE(expect(h, ask(h, 1, "ListWorkers", &m), COORD_OK),
		       Roar__ListWorkersReply);
	assert_int_equal(list->n_workers, 5);
	m.limit = 2;
	list = MESSAGE(expect(h, ask(h, 1, "ListWorkers", &m), COORD_OK),
		       Roar__ListWorkersReply);
	assert_int_equal(list->n_workers, 2);
	assert_true(list->more);
	m.first_rank = 3;
	list = MESSAGE(expect(h, ask(h, 1, "ListWorkers", &m), COORD_OK),
		       Roar__ListWorkersReply);
	assert_int_equal(list->n_workers, 2);
	assert_int_equal(list->workers[0]->rank, 3);
	assert_false(list->more);
	m.first_rank = INT32_MAX;
	list = MESSAGE(expect(h, ask(h, 1, "ListWorkers", &m), COORD_OK),
		       Roar__ListWorkersReply);
	assert_int_equal(list->n_workers, 0);
	assert_int_equal(
		MESSAGE(expect(h, ask(h, 1, "GetStatus", &status), COORD_OK),
			Roar__StatusReply)
			->n_workers,
		5);
	expect(h, ask(h, 1, "Stop", &stop), COORD_OK);
}

/* Time is not measured: work that grows with the square would take minutes. */
static void ten_thousand_meet(void **state)
{
	struct coord_limits limits = { 0 };
	struct host *h = host_new(&limits);
	enum { N = 10000 };
	const struct reply *r;
	uint64_t first = 0;
	char id[16];

	(void)state;
	for (int i = 0; i < N; i++) {
		snprintf(id, sizeof(id), "w%d", i);
		ask_register(h, (uint64_t)i + 1, id, 0);
	}
	h->timeout_ms = 1000;
	for (int i = 0; i < N - 2000; i++) {
		snprintf(id, sizeof(id), "w%d", i);
		first = ask_barrier(h, (uint64_t)i + 1, id, "x", 1);
	}
	pass_ms(h, 999);
	assert_int_equal(h->n_replies, N);
	/* Four of them to be told; the others keep their place. */
	h->timeout_ms = 0;
	for (int i = 4; i < N - 2000; i++) {
		snprintf(id, sizeof(id), "w%d", i);
		ask_barrier(h, (uint64_t)i + 1, id, "x", 1);
	}
	pass_ms(h, 1);
	r = expect(h, first - (N - 2001), COORD_DEADLINE_EXCEEDED);
	expect_says(r,
		    "2000 of 10000 workers are absent: 'w8000' (rank 8000, ");
	expect_says(r, " and 1992 more");
	assert_int_equal(r->n_names, 1000);
	for (int i = 0; i < N; i++) {
		if (i >= 4 && i < N - 2000)
			continue;
		snprintf(id, sizeof(id), "w%d", i);
		first = ask_barrier(h, (uint64_t)i + 1, id, "x", 1);
	}
	assert_int_equal(MESSAGE(&h->replies[h->n_replies - 1],
				 Coordinator__BarrierResponse)
				 ->participants,
			 N);
	host_check_replay(h);
	host_free(h);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, host_setup, host_teardown)
/* Without a comparison: what was replayed was not kept. */
static int plain_teardown(void **state)
{
	host_free(*state);
	return 0;
}
#define PLAIN(f) cmocka_unit_test_setup_teardown(f, host_setup, plain_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAIN(places_that_make_no_sense_are_refused),
		PLAIN(other_records_that_make_no_sense_are_refused),
		TEST(tables_that_make_no_sense_are_refused),
		TEST(leases_that_make_no_sense_are_refused),
		TEST(what_was_lent_before_is_over_and_told_once),
		TEST(a_place_has_a_number_that_is_free),
		cmocka_unit_test(the_table_of_methods_is_in_order),
		TEST(workers_are_listed_by_pages),
		cmocka_unit_test(ten_thousand_meet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
