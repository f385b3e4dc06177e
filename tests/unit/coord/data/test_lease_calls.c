/* test_lease_calls.c - an epoch that is lent in pieces: deadlines, repeats, whose they are. */
#include "host.h"

#include <errno.h>

enum { TIMEOUT = 1000, TOTAL = 597 };

static const Roar__LeaseMode EXACTLY = ROAR__LEASE_MODE__EXACTLY_ONCE,
			     AT_LEAST = ROAR__LEASE_MODE__AT_LEAST_ONCE;

static void register_dataset(struct host *h)
{
	Coordinator__DatasetInfo m = COORDINATOR__DATASET_INFO__INIT;

	m.dataset_id = "d";
	m.total_samples = TOTAL;
	m.shard_size = 10;
	expect(h, ask(h, 99, "RegisterDataset", &m), COORD_OK);
}

static void begin(struct host *h)
{
	register_dataset(h);
	join(h, 1, "a");
	join(h, 2, "b");
}

static Roar__TakeLeaseRequest take_of(struct host *h, const char *id,
				      Roar__LeaseMode mode, uint64_t request)
{
	Roar__TakeLeaseRequest m = ROAR__TAKE_LEASE_REQUEST__INIT;

	m.worker_id = (char *)id;
	m.session = session_of(h, id);
	m.dataset_id = "d";
	m.mode = mode;
	m.chunk = 200;
	m.timeout_ms = TIMEOUT;
	m.request = request;
	return m;
}

static const Roar__TakeLeaseReply *
take_by(struct host *h, const char *id, Roar__LeaseMode mode, uint64_t request)
{
	Roar__TakeLeaseRequest m = take_of(h, id, mode, request);

	return MESSAGE(expect(h, ask(h, 0, "TakeLease", &m), COORD_OK),
		       Roar__TakeLeaseReply);
}

static const Roar__TakeLeaseReply *take(struct host *h, const char *id,
					Roar__LeaseMode mode)
{
	return take_by(h, id, mode, 0);
}

static Roar__UseLeaseRequest use_of(struct host *h, const char *id,
				    uint64_t lease, int64_t to, bool give_back)
{
	Roar__UseLeaseRequest m = ROAR__USE_LEASE_REQUEST__INIT;

	m.worker_id = (char *)id;
	m.session = session_of(h, id);
	m.dataset_id = "d";
	m.lease_id = lease;
	m.consumed_to = to;
	m.give_back = give_back;
	return m;
}

static uint64_t ask_use(struct host *h, const char *id, uint64_t lease,
			int64_t to, bool give_back)
{
	Roar__UseLeaseRequest m = use_of(h, id, lease, to, give_back);

	return ask(h, 0, "UseLease", &m);
}

static const Roar__UseLeaseReply *use(struct host *h, const char *id,
				      uint64_t lease, int64_t to)
{
	return MESSAGE(expect(h, ask_use(h, id, lease, to, false), COORD_OK),
		       Roar__UseLeaseReply);
}

static const Roar__UseLeaseReply *give_back(struct host *h, const char *id,
					    uint64_t lease, int64_t to)
{
	return MESSAGE(expect(h, ask_use(h, id, lease, to, true), COORD_OK),
		       Roar__UseLeaseReply);
}

static void expect_over(struct host *h, const char *id, uint64_t lease,
			int64_t to)
{
	expect_says(expect(h, ask_use(h, id, lease, to, false),
			   COORD_FAILED_PRECONDITION),
		    "discard their results");
}

static int64_t consumed(struct host *h)
{
	Roar__ConsumedRequest m = ROAR__CONSUMED_REQUEST__INIT;

	m.dataset_id = "d";
	return MESSAGE(expect(h, ask(h, 0, "GetConsumed", &m), COORD_OK),
		       Roar__ConsumedReply)
		->consumed;
}

/* ---- lending ---- */

static void an_epoch_is_lent_to_its_end(void **state)
{
	struct host *h = *state;
	Roar__ConsumedReport report = ROAR__CONSUMED_REPORT__INIT;
	const Roar__TakeLeaseReply *a, *b, *c;

	begin(h);
	a = take(h, "a", EXACTLY);
	b = take(h, "b", EXACTLY);
	c = take(h, "a", EXACTLY);
	assert_int_equal(b->range->first, 200);
	assert_int_equal(c->range->end, TOTAL);
	assert_int_equal(use(h, "a", a->lease_id, 100)->left->first, 100);
	host_restart(h);
	assert_int_equal(use(h, "a", a->lease_id, 200)->n_new, 100);
	use(h, "b", b->lease_id, 400);
	a = take(h, "b", EXACTLY);
	assert_int_equal(a->lease_id, 0);
	assert_false(a->done);
	assert_in_range(a->retry_ms, 1, TIMEOUT);
	use(h, "a", c->lease_id, TOTAL);
	assert_true(take(h, "b", EXACTLY)->done);
	assert_int_equal(consumed(h), TOTAL);
	report.worker_id = "a";
	report.session = session_of(h, "a");
	report.dataset_id = "d";
	expect(h, ask(h, 1, "ReportConsumed", &report),
	       COORD_FAILED_PRECONDITION);
}

static void what_is_late_is_lent_again(void **state)
{
	struct host *h = *state;
	uint64_t late, again;

	begin(h);
	late = take(h, "a", EXACTLY)->lease_id;
	use(h, "a", late, 50);
	pass_ms(h, TIMEOUT + 1);
	again = take(h, "b", EXACTLY)->lease_id;
	assert_true(again > late);
	expect_over(h, "a", late, 200);
	expect_over(h, "a", late, 0);
	expect(h, ask_use(h, "a", again, 200, false), COORD_PERMISSION_DENIED);
	assert_int_equal(use(h, "b", again, 200)->n_new, 150);
}

static void at_least_once_counts_what_is_late(void **state)
{
	struct host *h = *state;
	Roar__TakeLeaseRequest other;
	uint64_t late, again;

	begin(h);
	late = take(h, "a", AT_LEAST)->lease_id;
	pass_ms(h, TIMEOUT + 1);
	again = take(h, "b", AT_LEAST)->lease_id;
	assert_int_equal(use(h, "a", late, 200)->n_new, 200);
	assert_int_equal(use(h, "b", again, 200)->n_new, 0);
	other = take_of(h, "a", EXACTLY, 0);
	expect_says(expect(h, ask(h, 0, "TakeLease", &other),
			   COORD_FAILED_PRECONDITION),
		    "at least once");
}

static void who_is_gone_gives_back(void **state)
{
	struct host *h = *state;
	Roar__AdvanceEpochRequest m = ROAR__ADVANCE_EPOCH_REQUEST__INIT;

	begin(h);
	take(h, "a", EXACTLY);
	use(h, "a", 1, 30);
	expect(h, ask_deregister(h, 1, "a"), COORD_OK);
	assert_int_equal(take(h, "b", EXACTLY)->range->first, 30);
	expect(h, ask_use(h, "b", 2, 40, true), COORD_OK);
	assert_int_equal(take(h, "b", EXACTLY)->range->first, 40);
	expect(h, ask_use(h, "b", 3, 241, false), COORD_INVALID_ARGUMENT);
	expect(h, ask_use(h, "b", 3, -1, false), COORD_INVALID_ARGUMENT);
	expect(h, ask_use(h, "b", 9, 1, false), COORD_FAILED_PRECONDITION);
	m.worker_id = "b";
	m.dataset_id = "d";
	m.epoch = 1;
	m.abandon = true;
	expect(h, ask(h, 2, "AdvanceEpoch", &m), COORD_OK);
	expect(h, ask_use(h, "b", 3, 50, false), COORD_FAILED_PRECONDITION);
}

/* ---- time ---- */

static void a_sign_of_life_moves_the_deadline_and_needs_no_record(void **state)
{
	struct host *h = *state;
	size_t before;

	begin(h);
	take(h, "a", EXACTLY);
	use(h, "a", 1, 50);
	before = h->n_records;
	for (int i = 0; i < 5; i++) {
		pass_ms(h, TIMEOUT - 100);
		assert_int_equal(use(h, "a", 1, 0)->left->first, 50);
	}
	assert_int_equal(h->n_records, before);
	assert_int_equal(take(h, "b", EXACTLY)->range->first, 200);
}

static void the_wall_clock_is_of_no_matter(void **state)
{
	struct host *h = *state;

	begin(h);
	take(h, "a", EXACTLY);
	h->now.wall_ms += 1000 * TIMEOUT;
	assert_int_equal(take(h, "b", EXACTLY)->range->first, 200);
	assert_int_equal(use(h, "a", 1, 10)->n_new, 10);
	h->now.wall_ms -= 5000 * TIMEOUT;
	pass_ms(h, TIMEOUT + 1);
	assert_int_equal(take(h, "b", EXACTLY)->range->first, 10);
}

/* As long as the coordinator was away, nobody could be heard. */
static void after_a_restart_leases_have_a_whole_timeout(void **state)
{
	struct host *h = *state;

	begin(h);
	take(h, "a", EXACTLY);
	pass_ms(h, TIMEOUT - 1);
	h->now.mono_ms += 100 * TIMEOUT;
	h->now.wall_ms += 100 * TIMEOUT;
	host_restart(h);
	pass_ms(h, TIMEOUT - 1);
	assert_int_equal(take(h, "b", EXACTLY)->range->first, 200);
	assert_int_equal(use(h, "a", 1, 10)->n_new, 10);
	host_restore(h);
	pass_ms(h, TIMEOUT - 1);
	assert_int_equal(use(h, "a", 1, 20)->n_new, 10);
	pass_ms(h, TIMEOUT + 1);
	expect_over(h, "a", 1, 30);
}

/* And no less than a worker has to come back. */
static void after_a_restart_a_short_lease_waits_for_its_worker(void **state)
{
	struct host *h = *state;
	Roar__JobSettings s = ROAR__JOB_SETTINGS__INIT;

	s.timeout_ms = 20 * TIMEOUT;
	configure(h, &s);
	begin(h);
	take(h, "a", EXACTLY);
	host_restart(h);
	pass_ms(h, 19 * TIMEOUT);
	assert_int_equal(use(h, "a", 1, 10)->n_new, 10);
	pass_ms(h, TIMEOUT + 1);
	expect_over(h, "a", 1, 30);
}

/* Nor while it stood still. */
static void a_pause_of_the_coordinator_is_nobodys_silence(void **state)
{
	struct host *h = *state;

	begin(h);
	take(h, "a", EXACTLY);
	pass_ms(h, TIMEOUT / 2);
	h->now.mono_ms += 100 * TIMEOUT;
	h->now.wall_ms += 100 * TIMEOUT;
	assert_int_equal(use(h, "a", 1, 10)->n_new, 10);
}

static void
a_deadline_that_cannot_be_recorded_refuses_what_needs_it(void **state)
{
	struct host *h = *state;
	Roar__TakeLeaseRequest m;

	begin(h);
	take(h, "a", EXACTLY);
	h->record_error = -ENOSPC;
	pass_ms(h, TIMEOUT + 1);
	m = take_of(h, "b", EXACTLY, 0);
	expect(h, ask(h, 0, "TakeLease", &m), COORD_RESOURCE_EXHAUSTED);
	expect(h, ask_use(h, "a", 1, 10, false), COORD_RESOURCE_EXHAUSTED);
	h->record_error = 0;
	expect_over(h, "a", 1, 10);
	assert_int_equal(take(h, "b", EXACTLY)->range->first, 0);
}

/* Logs once had leases with deadlines, as other records than now. */
static void a_log_of_leases_with_deadlines_is_refused(void **state)
{
	struct host *h = *state;

	begin(h);
	for (uint8_t number = 20; number <= 22; number++) {
		/* The field of that number, with nothing in it. */
		uint8_t bytes[] = { (uint8_t)(number << 3 | 2 | 0x80),
				    (uint8_t)(number >> 4), 0 };
		Roar__Record__Record *record = roar__record__record__unpack(
			NULL, sizeof(bytes), bytes);

		assert_non_null(record);
		assert_int_equal(coord_replay(h->c, record), -EBADMSG);
		roar__record__record__free_unpacked(record, NULL);
	}
}

/* ---- said again, because the answer was lost ---- */

static void a_take_that_is_repeated_takes_once(void **state)
{
	struct host *h = *state;

	begin(h);
	assert_int_equal(take_by(h, "a", EXACTLY, 7)->lease_id, 1);
	assert_int_equal(take_by(h, "a", EXACTLY, 7)->lease_id, 1);
	host_restart(h);
	assert_int_equal(take_by(h, "a", EXACTLY, 7)->lease_id, 1);
	host_restore(h);
	assert_int_equal(take_by(h, "a", EXACTLY, 7)->range->end, 200);
	assert_int_equal(take_by(h, "b", EXACTLY, 7)->lease_id, 2);
	assert_int_equal(take_by(h, "a", EXACTLY, 8)->lease_id, 3);
	/* It is over: then it is a wish like any other. */
	use(h, "a", 3, TOTAL);
	expect(h, ask_use(h, "b", 2, 0, true), COORD_OK);
	assert_int_equal(take_by(h, "a", EXACTLY, 8)->lease_id, 4);
}

static void a_use_that_is_repeated_gets_the_same_answer(void **state)
{
	struct host *h = *state;

	begin(h);
	take(h, "a", EXACTLY);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(use(h, "a", 1, 50)->n_new, 50);
		assert_int_equal(use(h, "a", 1, 50)->left->first, 50);
	}
	assert_int_equal(use(h, "a", 1, 0)->n_new, 0);
	for (int i = 0; i < 3; i++) {
		const Roar__UseLeaseReply *m = use(h, "a", 1, 200);

		assert_int_equal(m->n_new, 150);
		assert_null(m->left);
		i == 1 ? host_restore(h) : host_restart(h);
	}
	assert_int_equal(consumed(h), 200);
}

static void so_it_does_when_the_rest_was_given_back(void **state)
{
	struct host *h = *state;

	begin(h);
	take(h, "a", EXACTLY);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(give_back(h, "a", 1, 50)->n_new, 50);
		assert_null(give_back(h, "a", 1, 50)->left);
		assert_int_equal(use(h, "a", 1, 50)->n_new, 50);
		i == 1 ? host_restore(h) : host_restart(h);
	}
	expect_over(h, "a", 1, 51); /* that was not said before */
	expect_over(h, "a", 1, 0);
	assert_int_equal(take(h, "b", EXACTLY)->range->first, 50);
}

static void so_it_does_when_the_deadline_is_over(void **state)
{
	struct host *h = *state;

	begin(h);
	take(h, "a", EXACTLY);
	use(h, "a", 1, 50);
	pass_ms(h, TIMEOUT + 1);
	assert_int_equal(use(h, "a", 1, 50)->n_new, 50);
	assert_null(use(h, "a", 1, 50)->left);
	assert_int_equal(use(h, "a", 1, 40)->n_new, 0);
	expect_over(h, "a", 1, 51);
	expect_over(h, "a", 1, 0);
	assert_int_equal(give_back(h, "a", 1, 0)->n_new, 0);
}

/* Who has several leases repeats what it said of any of them. */
static void more_than_the_last_lease_is_remembered(void **state)
{
	struct host *h = *state;

	begin(h);
	for (int i = 0; i < 3; i++)
		take(h, "a", EXACTLY);
	use(h, "a", 1, 200);
	use(h, "a", 2, 400);
	use(h, "a", 3, TOTAL);
	assert_int_equal(use(h, "a", 1, 200)->n_new, 200);
	assert_int_equal(use(h, "a", 2, 400)->n_new, 200);
}

static void who_was_dead_hears_what_had_counted(void **state)
{
	struct host *h = *state;

	begin(h);
	take(h, "a", EXACTLY);
	use(h, "a", 1, 50);
	gone(h, 1);
	beat(h, 2, "b");
	for (int i = 0; i < 60; i++) {
		pass_ms(h, 1000);
		beat(h, 2, "b");
	}
	assert_int_equal(worker(h, "a")->state, ROAR__WORKER_VIEW__STATE__DEAD);
	expect(h, ask_register(h, 3, "a", session_of(h, "a")), COORD_OK);
	assert_int_equal(use(h, "a", 1, 50)->n_new, 50);
	expect_over(h, "a", 1, 60);
}

static void a_successor_hears_nothing_of_it(void **state)
{
	struct host *h = *state;

	begin(h);
	take_by(h, "a", EXACTLY, 1);
	use(h, "a", 1, 50);
	gone(h, 1);
	join(h, 3, "a");
	expect_over(h, "a", 1, 50);
	assert_int_equal(take_by(h, "a", EXACTLY, 1)->lease_id, 2);
}

/* ---- said again, after the epoch was over ---- */

static void advance(struct host *h, const char *id, int64_t epoch)
{
	Roar__AdvanceEpochRequest m = ROAR__ADVANCE_EPOCH_REQUEST__INIT;

	m.worker_id = (char *)id;
	m.session = session_of(h, id);
	m.dataset_id = "d";
	m.epoch = epoch;
	m.abandon = true;
	expect(h, ask(h, 0, "AdvanceEpoch", &m), COORD_OK);
}

/* "a" has the first two pieces of epoch 0, "b" the last one; all are used up. */
static void finish_epoch(struct host *h)
{
	begin(h);
	take(h, "a", EXACTLY);
	take(h, "a", EXACTLY);
	take(h, "b", EXACTLY);
	use(h, "a", 1, 200);
	use(h, "b", 3, TOTAL);
	use(h, "a", 2, 300);
	use(h, "a", 2, 400);
}

static void expect_epoch_over(struct host *h, const char *id, uint64_t lease,
			      int64_t to)
{
	expect_says(expect(h, ask_use(h, id, lease, to, false),
			   COORD_FAILED_PRECONDITION),
		    "epoch 0 of dataset 'd' is over");
}

/* Others need not wait for the answer to the last word of an epoch. */
static void a_use_is_repeated_after_others_went_on(void **state)
{
	struct host *h = *state;

	finish_epoch(h);
	advance(h, "b", 1);
	for (int i = 0; i < 3; i++) {
		const Roar__UseLeaseReply *m = use(h, "a", 2, 400);

		assert_int_equal(m->n_new, 100);
		assert_int_equal(m->timeout_ms, TIMEOUT);
		assert_null(m->left);
		assert_int_equal(use(h, "a", 2, 300)->n_new, 0);
		assert_int_equal(use(h, "a", 1, 200)->n_new, 200);
		assert_int_equal(give_back(h, "b", 3, TOTAL)->n_new, 197);
		i == 1 ? host_restore(h) : host_restart(h);
	}
	expect_epoch_over(h, "a", 3, TOTAL); /* another's */
	expect_epoch_over(h, "a", 2, 401);
	expect_epoch_over(h, "a", 9, 1);
	assert_int_equal(consumed(h), 0);
}

/* Its leases have the same numbers. */
static void so_it_is_while_the_next_epoch_is_lent(void **state)
{
	struct host *h = *state;
	Roar__TakeLeaseRequest m;
	Roar__UseLeaseRequest next;

	finish_epoch(h);
	advance(h, "b", 1);
	m = take_of(h, "b", AT_LEAST, 0);
	m.epoch = 1;
	m.timeout_ms = 3 * TIMEOUT;
	for (int i = 0; i < 3; i++)
		expect(h, ask(h, 0, "TakeLease", &m), COORD_OK);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(use(h, "a", 2, 400)->n_new, 100);
		assert_int_equal(use(h, "a", 2, 400)->timeout_ms, TIMEOUT);
		i == 1 ? host_restore(h) : host_restart(h);
	}
	expect_epoch_over(h, "b", 2, 400);
	assert_int_equal(consumed(h), 0);
	next = use_of(h, "b", 3, TOTAL, false);
	next.epoch = 1;
	expect(h, ask(h, 0, "UseLease", &next), COORD_OK);
	assert_int_equal(consumed(h), 197);
}

static void what_had_counted_of_an_abandoned_epoch_is_told(void **state)
{
	struct host *h = *state;

	begin(h);
	take(h, "a", EXACTLY);
	use(h, "a", 1, 50);
	for (int i = 0; i < 2; i++)
		take(h, "a", EXACTLY);
	advance(h, "b", 1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(use(h, "a", 1, 50)->n_new, 50);
		assert_null(use(h, "a", 1, 50)->left);
		expect_epoch_over(h, "a", 1, 51);
		expect_epoch_over(h, "a", 1, 0);
		expect_epoch_over(h, "a", 2, 400);
		i == 1 ? host_restore(h) : host_restart(h);
	}
}

static void one_epoch_back_is_remembered(void **state)
{
	struct host *h = *state;

	finish_epoch(h);
	advance(h, "b", 1);
	use(h, "a", 2, 400);
	advance(h, "b", 2);
	expect_epoch_over(h, "a", 2, 400);
	host_restore(h);
	expect_epoch_over(h, "a", 2, 400);
}

static void a_successor_hears_nothing_of_the_epoch_before(void **state)
{
	struct host *h = *state;

	finish_epoch(h);
	advance(h, "b", 1);
	gone(h, 1);
	join(h, 3, "a");
	expect_epoch_over(h, "a", 2, 400);
	expect(h, ask_deregister(h, 2, "b"), COORD_OK);
	join(h, 4, "c"); /* in the place of "b" */
	expect_epoch_over(h, "c", 3, TOTAL);
}

/* ---- whose they are ---- */

static void leases_are_their_workers(void **state)
{
	struct host *h = *state;
	Roar__TakeLeaseRequest m;
	Roar__UseLeaseRequest u;

	begin(h);
	m = take_of(h, "a", EXACTLY, 0);
	m.session = 0;
	expect(h, ask(h, 1, "TakeLease", &m), COORD_OK);
	u = use_of(h, "a", 1, 10, false);
	u.session = 0;
	for (uint64_t conn = 0; conn < 9; conn++)
		if (conn != 1) {
			expect(h, ask(h, conn, "TakeLease", &m),
			       COORD_PERMISSION_DENIED);
			expect(h, ask(h, conn, "UseLease", &u),
			       COORD_PERMISSION_DENIED);
		}
	expect(h, ask(h, 1, "UseLease", &u), COORD_OK);
	u.session = m.session = session_of(h, "b");
	expect(h, ask(h, 1, "TakeLease", &m), COORD_FAILED_PRECONDITION);
	expect(h, ask(h, 1, "UseLease", &u), COORD_FAILED_PRECONDITION);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, host_setup, host_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_epoch_is_lent_to_its_end),
		TEST(what_is_late_is_lent_again),
		TEST(at_least_once_counts_what_is_late),
		TEST(who_is_gone_gives_back),
		TEST(a_sign_of_life_moves_the_deadline_and_needs_no_record),
		TEST(the_wall_clock_is_of_no_matter),
		TEST(after_a_restart_leases_have_a_whole_timeout),
		TEST(after_a_restart_a_short_lease_waits_for_its_worker),
		TEST(a_pause_of_the_coordinator_is_nobodys_silence),
		TEST(a_deadline_that_cannot_be_recorded_refuses_what_needs_it),
		TEST(a_log_of_leases_with_deadlines_is_refused),
		TEST(a_take_that_is_repeated_takes_once),
		TEST(a_use_that_is_repeated_gets_the_same_answer),
		TEST(so_it_does_when_the_rest_was_given_back),
		TEST(so_it_does_when_the_deadline_is_over),
		TEST(more_than_the_last_lease_is_remembered),
		TEST(who_was_dead_hears_what_had_counted),
		TEST(a_successor_hears_nothing_of_it),
		TEST(a_use_is_repeated_after_others_went_on),
		TEST(so_it_is_while_the_next_epoch_is_lent),
		TEST(what_had_counted_of_an_abandoned_epoch_is_told),
		TEST(one_epoch_back_is_remembered),
		TEST(a_successor_hears_nothing_of_the_epoch_before),
		TEST(leases_are_their_workers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
