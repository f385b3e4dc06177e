/* test_epoch.c - a dataset goes from one epoch to the next. */
#include "host.h"

enum { SAMPLES = 60 };

static void begin(struct host *h)
{
	Coordinator__DatasetInfo m = COORDINATOR__DATASET_INFO__INIT;

	m.dataset_id = "d";
	m.total_samples = SAMPLES;
	m.shard_size = 10;
	expect(h, ask(h, 99, "RegisterDataset", &m), COORD_OK);
	join(h, 1, "a");
	join(h, 2, "b");
}

static uint64_t ask_epoch(struct host *h, const char *id, int64_t epoch,
			  bool abandon)
{
	Roar__AdvanceEpochRequest m = ROAR__ADVANCE_EPOCH_REQUEST__INIT;

	m.worker_id = (char *)id;
	m.session = session_of(h, id);
	m.dataset_id = "d";
	m.epoch = epoch;
	m.abandon = abandon;
	return ask(h, *id == 'a' ? 1 : 2, "AdvanceEpoch", &m);
}

static int64_t advance(struct host *h, int64_t epoch)
{
	return MESSAGE(expect(h, ask_epoch(h, "a", epoch, false), COORD_OK),
		       Roar__AdvanceEpochReply)
		->epoch;
}

static void report(struct host *h, int64_t epoch, int64_t first, int64_t end)
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
	expect(h, ask(h, 1, "ReportConsumed", &m), COORD_OK);
}

static void take(struct host *h, uint64_t conn, const char *id)
{
	Roar__TakeLeaseRequest m = ROAR__TAKE_LEASE_REQUEST__INIT;

	m.worker_id = (char *)id;
	m.session = session_of(h, id);
	m.dataset_id = "d";
	m.chunk = SAMPLES / 2;
	expect(h, ask(h, conn, "TakeLease", &m), COORD_OK);
}

static uint64_t ask_use(struct host *h, uint64_t conn, const char *id,
			uint64_t lease, int64_t to)
{
	Roar__UseLeaseRequest m = ROAR__USE_LEASE_REQUEST__INIT;

	m.worker_id = (char *)id;
	m.session = session_of(h, id);
	m.dataset_id = "d";
	m.lease_id = lease;
	m.consumed_to = to;
	return ask(h, conn, "UseLease", &m);
}

static void the_next_follows_and_no_other(void **state)
{
	struct host *h = *state;

	begin(h);
	assert_int_equal(advance(h, 1), 1);
	assert_int_equal(advance(h, 1), 1); /* said again */
	assert_int_equal(advance(h, 2), 2);
	expect_says(expect(h, ask_epoch(h, "a", 1, true),
			   COORD_FAILED_PRECONDITION),
		    "epoch 1 of dataset 'd' is over");
	expect_says(expect(h, ask_epoch(h, "a", 4, true),
			   COORD_FAILED_PRECONDITION),
		    "the next is 3");
	expect(h, ask_epoch(h, "a", INT64_MAX, true),
	       COORD_FAILED_PRECONDITION);
	expect(h, ask_epoch(h, "a", -1, true), COORD_INVALID_ARGUMENT);
	expect(h, ask_epoch(h, "b", 3, false), COORD_OK);
	expect(h, ask_epoch(h, "x", 4, false), COORD_NOT_FOUND);
	host_restart(h);
	assert_int_equal(advance(h, 3), 3);
	host_restore(h);
	assert_int_equal(advance(h, 4), 4);
}

static void what_is_left_keeps_an_epoch(void **state)
{
	struct host *h = *state;

	begin(h);
	report(h, 0, 0, 10);
	report(h, 0, 20, 25);
	expect_says(expect(h, ask_epoch(h, "a", 1, false),
			   COORD_FAILED_PRECONDITION),
		    "45 of 60 samples are left, the first of them at 10 to 20");
	host_restart(h);
	expect(h, ask_epoch(h, "b", 1, false), COORD_FAILED_PRECONDITION);
	report(h, 0, 0, SAMPLES);
	assert_int_equal(advance(h, 1), 1);
}

static void what_is_lent_keeps_an_epoch(void **state)
{
	struct host *h = *state;

	begin(h);
	take(h, 2, "b");
	take(h, 1, "a");
	expect_says(expect(h, ask_epoch(h, "a", 1, false),
			   COORD_FAILED_PRECONDITION),
		    "60 of 60 samples are left");
	expect(h, ask_use(h, 1, "a", 2, SAMPLES), COORD_OK);
	expect_says(expect(h, ask_epoch(h, "a", 1, false),
			   COORD_FAILED_PRECONDITION),
		    "at 0 to 30; lent to b; ");
	expect(h, ask_use(h, 2, "b", 1, SAMPLES / 2), COORD_OK);
	assert_int_equal(advance(h, 1), 1);
}

static void what_is_left_can_be_abandoned(void **state)
{
	struct host *h = *state;
	const Roar__AdvanceEpochReply *m;

	begin(h);
	report(h, 0, 0, 10);
	m = MESSAGE(expect(h, ask_epoch(h, "a", 1, true), COORD_OK),
		    Roar__AdvanceEpochReply);
	assert_int_equal(m->epoch, 1);
	assert_int_equal(m->abandoned, 50);
	m = MESSAGE(expect(h, ask_epoch(h, "b", 1, true), COORD_OK),
		    Roar__AdvanceEpochReply);
	assert_int_equal(m->abandoned, 0); /* that was somebody else */
}

static void an_epoch_that_is_not_kept_has_not_begun(void **state)
{
	struct host *h = *state;

	begin(h);
	h->record_error = -28;
	expect(h, ask_epoch(h, "a", 1, false), COORD_RESOURCE_EXHAUSTED);
	h->record_error = 0;
	report(h, 0, 0, SAMPLES);
	assert_int_equal(advance(h, 1), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, host_setup, host_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_next_follows_and_no_other),
		TEST(what_is_left_keeps_an_epoch),
		TEST(what_is_lent_keeps_an_epoch),
		TEST(what_is_left_can_be_abandoned),
		TEST(an_epoch_that_is_not_kept_has_not_begun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
