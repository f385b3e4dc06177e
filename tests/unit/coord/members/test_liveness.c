/* test_liveness.c - who is suspect, dead and gone, and what becomes of meetings. */
#include "host.h"

#include <string.h>

enum {
	ALIVE = ROAR__WORKER_VIEW__STATE__ALIVE,
	SUSPECT = ROAR__WORKER_VIEW__STATE__SUSPECT,
	DEAD = ROAR__WORKER_VIEW__STATE__DEAD,
};

static void policy(struct host *h, Roar__OnDeath on_death)
{
	Roar__JobSettings s = ROAR__JOB_SETTINGS__INIT;

	s.on_death = on_death;
	configure(h, &s);
}

/* Others go on saying so while time goes by. */
static void pass_with(struct host *h, int64_t ms, uint64_t conn, const char *id)
{
	for (; ms > 0; ms -= 1000) {
		pass_ms(h, ms < 1000 ? ms : 1000);
		beat(h, conn, id);
	}
}

/* ---- silence ---- */

static void silence_makes_suspect_then_dead_then_gone(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	join(h, 2, "b");
	pass_with(h, 14999, 2, "b");
	assert_int_equal(worker(h, "a")->state, ALIVE);
	pass_with(h, 1, 2, "b");
	assert_int_equal(worker(h, "a")->state, SUSPECT);
	assert_string_equal(worker(h, "a")->reason, "it is silent");
	pass_with(h, 14999, 2, "b");
	assert_int_equal(worker(h, "a")->state, SUSPECT);
	pass_with(h, 1, 2, "b");
	assert_int_equal(worker(h, "a")->state, DEAD);
	assert_int_equal(beat(h, 2, "b")->world_size, 2);
	pass_with(h, 59999, 2, "b");
	assert_int_equal(worker(h, "a")->state, DEAD);
	pass_with(h, 1, 2, "b");
	assert_null(worker(h, "a"));
	assert_int_equal(beat(h, 2, "b")->world_size, 1);
	assert_int_equal(beat(h, 2, "b")->rank, 0);
}

static void heartbeats_keep_alive(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	for (int i = 0; i < 100; i++) {
		pass_ms(h, 14000);
		beat(h, 1, "a");
		assert_int_equal(worker(h, "a")->state, ALIVE);
	}
}

static void a_suspect_that_speaks_is_alive_again(void **state)
{
	struct host *h = *state;
	const Coordinator__WorkerConfig *a = join(h, 1, "a");

	pass_ms(h, 29000);
	assert_int_equal(worker(h, "a")->state, SUSPECT);
	assert_int_equal(beat(h, 1, "a")->world_epoch, a->world_epoch);
	pass_ms(h, 14000);
	assert_int_equal(worker(h, "a")->state, ALIVE);
}

static void the_dead_may_come_back_while_the_place_is_held(void **state)
{
	struct host *h = *state;
	const Coordinator__WorkerConfig *a = join(h, 1, "a");
	uint64_t epoch;

	pass_ms(h, 30000);
	assert_int_equal(worker(h, "a")->state, DEAD);
	epoch = beat(h, 1, "a")->world_epoch;
	assert_true(epoch > a->world_epoch + 1);
	assert_int_equal(worker(h, "a")->state, ALIVE);
	assert_int_equal(worker(h, "a")->incarnation, 1);
	pass_ms(h, 14000);
	assert_int_equal(worker(h, "a")->state, ALIVE);
	expect(h, ask_heartbeat(h, 1, "a", a->session), COORD_OK);
}

static void the_dead_have_a_successor(void **state)
{
	struct host *h = *state;
	const Coordinator__WorkerConfig *a = join(h, 1, "a"), *b;

	pass_ms(h, 30000);
	b = join(h, 2, "a");
	assert_int_equal(b->incarnation, 2);
	assert_int_equal(b->rank, 0);
	expect(h, ask_heartbeat(h, 1, "a", a->session),
	       COORD_FAILED_PRECONDITION);
}

static void shorter_times_count_at_once(void **state)
{
	struct host *h = *state;
	Roar__JobSettings s = ROAR__JOB_SETTINGS__INIT;

	join(h, 1, "a");
	pass_ms(h, 1000);
	s.heartbeat_interval_ms = 100;
	s.timeout_ms = 400;
	configure(h, &s);
	pass_ms(h, 0);
	assert_int_equal(worker(h, "a")->state, DEAD);
}

static void settings_that_cannot_hold_are_refused(void **state)
{
	struct host *h = *state;
	Roar__JobSettings s = ROAR__JOB_SETTINGS__INIT;

	s.timeout_ms = 9999;
	expect_says(expect(h, ask(h, 0, "Configure", &s),
			   COORD_INVALID_ARGUMENT),
		    "two heartbeat intervals (10000)");
	s.timeout_ms = 0;
	s.min_workers = 10001;
	expect(h, ask(h, 0, "Configure", &s), COORD_INVALID_ARGUMENT);
	s.min_workers = -1;
	expect(h, ask(h, 0, "Configure", &s), COORD_INVALID_ARGUMENT);
	assert_int_equal(h->n_records, 0);
}

/* ---- the end of a connection ---- */

static void the_end_of_a_connection_is_noticed_at_once(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	gone(h, 1);
	assert_int_equal(worker(h, "a")->state, SUSPECT);
	assert_string_equal(worker(h, "a")->reason, "its connection ended");
	pass_ms(h, 9999);
	assert_int_equal(worker(h, "a")->state, SUSPECT);
	pass_ms(h, 1);
	assert_int_equal(worker(h, "a")->state, DEAD);
}

static void the_end_of_a_connection_gives_no_more_time(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	pass_ms(h, 25000);
	gone(h, 1);
	pass_ms(h, 4999);
	assert_int_equal(worker(h, "a")->state, SUSPECT);
	pass_ms(h, 1);
	assert_int_equal(worker(h, "a")->state, DEAD);
}

static void a_worker_is_where_it_was_last_heard_of(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	beat(h, 2, "a");
	gone(h, 1);
	assert_int_equal(worker(h, "a")->state, ALIVE);
	gone(h, 2);
	assert_int_equal(worker(h, "a")->state, SUSPECT);
	beat(h, 3, "a");
	assert_int_equal(worker(h, "a")->state, ALIVE);
}

static void who_waits_is_alive(void **state)
{
	struct host *h = *state;
	uint64_t a;

	join(h, 1, "a");
	join(h, 2, "b");
	a = ask_barrier(h, 1, "a", "x", 0);
	pass_with(h, 100000, 2, "b");
	assert_int_equal(worker(h, "a")->state, ALIVE);
	expect_waiting(h, a);
	/* Its other connection ends; the one it waits on does not. */
	beat(h, 3, "a");
	gone(h, 3);
	assert_int_equal(worker(h, "a")->state, ALIVE);
	gone(h, 1);
	assert_int_equal(worker(h, "a")->state, SUSPECT);
}

/* ---- the coordinator itself did not run ---- */

static void sleep_ms(struct host *h, int64_t ms)
{
	h->now.mono_ms += ms;
	h->now.wall_ms += ms;
}

static void a_pause_of_the_coordinator_is_nobodys_silence(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	pass_ms(h, 5000);
	beat(h, 1, "a");
	sleep_ms(h, 100000); /* 90,000 of them after the alarm */
	pass_ms(h, 0);
	assert_int_equal(worker(h, "a")->state, ALIVE);
	pass_ms(h, 4999);
	assert_int_equal(worker(h, "a")->state, ALIVE);
	pass_ms(h, 1);
	assert_int_equal(worker(h, "a")->state, SUSPECT);
	sleep_ms(h, 100000);
	pass_ms(h, 0);
	assert_int_equal(worker(h, "a")->state, DEAD);
	sleep_ms(h, 100000);
	beat(h, 1, "a");
	assert_int_equal(worker(h, "a")->incarnation, 1);
}

static void a_pause_ends_with_whatever_is_read_first(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	join(h, 2, "b");
	join(h, 3, "c");
	sleep_ms(h, 100000);
	beat(h, 1, "a");
	gone(h, 2);
	pass_ms(h, 0);
	assert_int_equal(worker(h, "a")->state, ALIVE);
	assert_int_equal(worker(h, "b")->state, SUSPECT);
	assert_int_equal(worker(h, "c")->state, SUSPECT);
	pass_ms(h, 9999);
	assert_int_equal(worker(h, "b")->state, SUSPECT);
	pass_ms(h, 1);
	assert_int_equal(worker(h, "b")->state, DEAD);
	assert_int_equal(worker(h, "c")->state, SUSPECT);
	pass_with(h, 5000, 1, "a");
	assert_int_equal(worker(h, "c")->state, DEAD);
}

static void a_pause_gives_back_no_more_than_it_took(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	for (int i = 0; i < 149; i++) {
		sleep_ms(h, 100);
		coord_tick(h->c, h->now);
	}
	sleep_ms(h, 350); /* 250 of them after the alarm */
	coord_tick(h->c, h->now);
	assert_int_equal(worker(h, "a")->state, SUSPECT);
	pass_ms(h, 14749);
	assert_int_equal(worker(h, "a")->state, SUSPECT);
	pass_ms(h, 1);
	assert_int_equal(worker(h, "a")->state, DEAD);
}

/* ---- restart ---- */

static void after_a_restart_all_have_their_timeout(void **state)
{
	struct host *h = *state;
	const Coordinator__WorkerConfig *a = join(h, 1, "a");

	join(h, 2, "b");
	pass_ms(h, 5000);
	host_restart(h);
	assert_int_equal(worker(h, "a")->state, SUSPECT);
	pass_ms(h, 29999);
	expect(h, ask_register(h, 3, "a", a->session), COORD_OK);
	pass_ms(h, 1);
	assert_int_equal(worker(h, "a")->state, ALIVE);
	assert_int_equal(worker(h, "a")->incarnation, 1);
	assert_int_equal(worker(h, "b")->state, DEAD);
}

static void a_place_is_held_over_a_restart(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	pass_ms(h, 30000 + 20000);
	assert_int_equal(worker(h, "a")->state, DEAD);
	host_restart(h);
	pass_ms(h, 39999);
	assert_int_equal(worker(h, "a")->state, DEAD);
	pass_ms(h, 1);
	assert_null(worker(h, "a"));
}

static void a_clock_set_back_holds_a_place_no_longer_than_whole(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	pass_ms(h, 31000);
	h->now.wall_ms -= 1000000000;
	host_restart(h);
	pass_ms(h, 60000);
	assert_null(worker(h, "a"));
}

static void a_death_that_cannot_be_recorded_waits(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	h->record_error = -28;
	pass_ms(h, 40000);
	assert_int_equal(worker(h, "a")->state, SUSPECT);
	h->record_error = 0;
	pass_ms(h, 1000);
	assert_int_equal(worker(h, "a")->state, DEAD);
}

/* ---- policies ---- */

static void with_fail_all_are_told_who_died(void **state)
{
	struct host *h = *state;
	const struct reply *r;
	uint64_t a;

	join(h, 1, "a");
	join(h, 2, "b");
	a = ask_barrier(h, 1, "a", "x", 0);
	gone(h, 2);
	expect_waiting(h, a);
	pass_ms(h, 10000);
	r = expect(h, a, COORD_ABORTED);
	expect_says(r, "worker 'b' (rank 1) died: its connection ended");
	assert_int_equal(r->n_names, 1);
	assert_string_equal(r->names[0], "b");
}

static void with_fail_nobody_waits_while_a_place_is_empty(void **state)
{
	struct host *h = *state;
	const struct reply *r;
	uint64_t a;

	join(h, 1, "a");
	join(h, 2, "b");
	join(h, 3, "c");
	gone(h, 2);
	gone(h, 3);
	pass_ms(h, 10000);
	r = expect(h, ask_barrier(h, 1, "a", "x", 0), COORD_ABORTED);
	expect_says(r, "worker 'b' (rank 1) is dead: its connection ended");
	expect_says(r, "and 1 more");
	assert_int_equal(r->n_names, 2);
	assert_string_equal(r->names[0], "b");
	assert_string_equal(r->names[1], "c");
	/* It goes on when one is taken again and the other given up. */
	join(h, 4, "b");
	a = ask_barrier(h, 4, "b", "x", 0);
	expect(h, a, COORD_ABORTED);
	for (int i = 0; i < 6; i++) {
		beat(h, 1, "a");
		beat(h, 4, "b");
		pass_ms(h, 10000);
	}
	assert_null(worker(h, "c"));
	a = ask_barrier(h, 1, "a", "x", 0);
	expect_waiting(h, a);
	expect(h, ask_barrier(h, 4, "b", "x", 0), COORD_OK);
	expect(h, a, COORD_OK);
}

static void with_fail_a_successor_is_news_of_a_death(void **state)
{
	struct host *h = *state;
	uint64_t a;

	join(h, 1, "a");
	join(h, 2, "b");
	a = ask_barrier(h, 1, "a", "x", 0);
	gone(h, 2);
	join(h, 3, "b");
	expect_says(expect(h, a, COORD_ABORTED), "replaced by a new process");
}

static void with_shrink_the_others_go_on(void **state)
{
	struct host *h = *state;
	const Coordinator__BarrierResponse *m;
	uint64_t a;

	policy(h, ROAR__ON_DEATH__SHRINK);
	join(h, 1, "a");
	join(h, 2, "b");
	a = ask_barrier(h, 1, "a", "x", 0);
	gone(h, 2);
	pass_ms(h, 10000);
	m = MESSAGE(expect(h, a, COORD_OK), Coordinator__BarrierResponse);
	assert_int_equal(m->participants, 1);
}

static void with_wait_the_successor_is_waited_for(void **state)
{
	struct host *h = *state;
	uint64_t a, b;

	policy(h, ROAR__ON_DEATH__WAIT);
	join(h, 1, "a");
	join(h, 2, "b");
	a = ask_barrier(h, 1, "a", "x", 0);
	gone(h, 2);
	pass_ms(h, 40000);
	expect_waiting(h, a);
	assert_int_equal(worker(h, "b")->state, DEAD);
	join(h, 3, "b");
	b = ask_barrier(h, 3, "b", "x", 0);
	expect(h, a, COORD_OK);
	expect(h, b, COORD_OK);
}

static void with_wait_a_place_is_held_until_the_deadline(void **state)
{
	struct host *h = *state;
	const struct reply *r;
	uint64_t a;

	policy(h, ROAR__ON_DEATH__WAIT);
	join(h, 1, "a");
	join(h, 2, "b");
	h->timeout_ms = 300000;
	a = ask_barrier(h, 1, "a", "x", 0);
	h->timeout_ms = 0;
	gone(h, 2);
	pass_ms(h, 299999);
	expect_waiting(h, a);
	assert_int_equal(worker(h, "b")->state, DEAD);
	pass_ms(h, 1);
	r = expect(h, a, COORD_DEADLINE_EXCEEDED);
	assert_int_equal(r->n_names, 1);
	assert_string_equal(r->names[0], "b");
	pass_ms(h, 1000);
	assert_null(worker(h, "b"));
}

static void with_wait_who_leaves_is_not_waited_for(void **state)
{
	struct host *h = *state;
	Roar__LeaveRequest m = ROAR__LEAVE_REQUEST__INIT;
	uint64_t a;

	policy(h, ROAR__ON_DEATH__WAIT);
	join(h, 1, "a");
	join(h, 2, "b");
	a = ask_barrier(h, 1, "a", "x", 0);
	gone(h, 2);
	pass_ms(h, 100000);
	expect_waiting(h, a);
	m.worker_id = "b";
	expect(h, ask(h, 9, "Leave", &m), COORD_OK);
	expect(h, a, COORD_OK);
}

static void too_few_left_wait_for_more(void **state)
{
	struct host *h = *state;
	Roar__JobSettings s = ROAR__JOB_SETTINGS__INIT;
	uint64_t a, c;

	s.min_workers = 2;
	s.on_death = ROAR__ON_DEATH__SHRINK;
	configure(h, &s);
	join(h, 1, "a");
	join(h, 2, "b");
	a = ask_barrier(h, 1, "a", "x", 0);
	gone(h, 2);
	pass_ms(h, 10000);
	expect_waiting(h, a);
	assert_false(beat(h, 1, "a")->ready);
	join(h, 3, "c");
	c = ask_barrier(h, 3, "c", "x", 0);
	expect(h, a, COORD_OK);
	expect(h, c, COORD_OK);
}

static void who_is_forced_out_is_told(void **state)
{
	struct host *h = *state;
	Roar__LeaveRequest m = ROAR__LEAVE_REQUEST__INIT;
	uint64_t a, b;

	join(h, 1, "a");
	join(h, 2, "b");
	join(h, 3, "c");
	a = ask_barrier(h, 1, "a", "x", 0);
	b = ask_barrier(h, 2, "b", "x", 0);
	m.worker_id = "b";
	expect(h, ask(h, 9, "Leave", &m), COORD_OK);
	expect_says(expect(h, b, COORD_ABORTED), "left the job");
	expect_waiting(h, a);
	m.worker_id = "c";
	expect(h, ask(h, 9, "Leave", &m), COORD_OK);
	expect(h, a, COORD_OK);
}

static void ages(void *data, const char *job, int64_t age_ms)
{
	assert_string_equal(job, "default");
	*(int64_t *)data += age_ms;
}

static void ages_and_counts_are_true(void **state)
{
	struct host *h = *state;
	struct coord_counts n;
	int64_t sum = 0;

	join(h, 1, "a");
	join(h, 2, "b");
	join(h, 3, "c");
	pass_ms(h, 100);
	beat(h, 1, "a");
	gone(h, 2);
	ask_barrier(h, 3, "c", "x", 0);
	pass_ms(h, 10);
	coord_each_age(h->c, h->now, ages, &sum);
	assert_int_equal(sum, 10 + 110 + 10);
	coord_count(h->c, &n);
	assert_int_equal(n.n_workers, 3);
	assert_int_equal(n.n_alive, 2);
	assert_int_equal(n.n_suspect, 1);
	assert_int_equal(n.n_meetings, 1);
	assert_int_equal(n.n_waiting, 1);
	pass_ms(h, 10000);
	coord_count(h->c, &n);
	assert_int_equal(n.n_dead, 1);
	assert_int_equal(n.n_suspect, 0);
	assert_int_equal(n.n_failed, 1);
	assert_int_equal(n.n_waiting, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, host_setup, host_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(silence_makes_suspect_then_dead_then_gone),
		TEST(heartbeats_keep_alive),
		TEST(a_suspect_that_speaks_is_alive_again),
		TEST(the_dead_may_come_back_while_the_place_is_held),
		TEST(the_dead_have_a_successor),
		TEST(shorter_times_count_at_once),
		TEST(settings_that_cannot_hold_are_refused),
		TEST(the_end_of_a_connection_is_noticed_at_once),
		TEST(the_end_of_a_connection_gives_no_more_time),
		TEST(a_worker_is_where_it_was_last_heard_of),
		TEST(who_waits_is_alive),
		TEST(a_pause_of_the_coordinator_is_nobodys_silence),
		TEST(a_pause_ends_with_whatever_is_read_first),
		TEST(a_pause_gives_back_no_more_than_it_took),
		TEST(after_a_restart_all_have_their_timeout),
		TEST(a_place_is_held_over_a_restart),
		TEST(a_clock_set_back_holds_a_place_no_longer_than_whole),
		TEST(a_death_that_cannot_be_recorded_waits),
		TEST(with_fail_all_are_told_who_died),
		TEST(with_fail_nobody_waits_while_a_place_is_empty),
		TEST(with_fail_a_successor_is_news_of_a_death),
		TEST(with_shrink_the_others_go_on),
		TEST(with_wait_the_successor_is_waited_for),
		TEST(with_wait_a_place_is_held_until_the_deadline),
		TEST(with_wait_who_leaves_is_not_waited_for),
		TEST(too_few_left_wait_for_more),
		TEST(who_is_forced_out_is_told),
		TEST(ages_and_counts_are_true),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
