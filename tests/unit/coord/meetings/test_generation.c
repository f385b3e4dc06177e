/* test_generation.c - which use of a meeting a request means, and answers given again. */
#include "meeting_helpers.h"

#include <stdio.h>

/* (e): an id that is used again begins a new barrier unnoticed. */
static void uses_are_numbered_and_old_ones_refused(void **state)
{
	struct host *h = *state;
	uint64_t a, b;

	join(h, 1, "a");
	join(h, 2, "b");
	for (uint64_t g = 1; g <= 3; g++) {
		a = ask_barrier(h, 1, "a", "x", g);
		b = ask_barrier(h, 2, "b", "x", g);
		assert_int_equal(released(h, a)->generation, g);
		released(h, b);
	}
	expect_says(expect(h, ask_barrier(h, 1, "a", "x", 2),
			   COORD_FAILED_PRECONDITION),
		    "the last released was 3");
}

static void the_last_answer_is_given_again(void **state)
{
	struct host *h = *state;
	const Coordinator__BarrierResponse *m;
	uint64_t a, b;

	join(h, 1, "a");
	join(h, 2, "b");
	ask_barrier(h, 1, "a", "x", 1);
	pass_ms(h, 70);
	ask_barrier(h, 2, "b", "x", 1);
	for (int restarted = 0; restarted < 2; restarted++) {
		m = released(h, ask_barrier(h, 5, "b", "x", 1));
		assert_int_equal(m->arrival_order, 2);
		assert_int_equal(m->participants, 2);
		assert_int_equal(m->late[0]->late_ms, 70);
		host_restart(h);
	}
	a = ask_barrier(h, 1, "a", "x", 2);
	expect_waiting(h, a);
	/* Others are in the next already. */
	released(h, ask_barrier(h, 5, "b", "x", 1));
	b = ask_barrier(h, 2, "b", "x", 2);
	released(h, a);
	released(h, b);
}

/* (f): the step is ignored. */
static void the_step_tells_the_generation(void **state)
{
	struct host *h = *state;
	Coordinator__BarrierRequest m = COORDINATOR__BARRIER_REQUEST__INIT;
	uint64_t a, b;

	join(h, 1, "a");
	join(h, 2, "b");
	m.barrier_id = "x";
	m.worker_id = "a";
	m.step = 100;
	a = ask(h, 1, "WaitBarrier", &m);
	m.worker_id = "b";
	m.step = 200;
	expect_says(expect(h, ask(h, 2, "WaitBarrier", &m),
			   COORD_FAILED_PRECONDITION),
		    "wait in generation 101, 'a' (rank 0)");
	m.step = 50;
	expect(h, ask(h, 2, "WaitBarrier", &m), COORD_FAILED_PRECONDITION);
	expect_waiting(h, a);
	m.step = 100;
	b = ask(h, 2, "WaitBarrier", &m);
	assert_int_equal(released(h, a)->generation, 101);
	released(h, b);
	m.step = -1;
	expect(h, ask(h, 2, "WaitBarrier", &m), COORD_INVALID_ARGUMENT);
}

static uint64_t ask_step(struct host *h, uint64_t conn, char *id, int64_t step)
{
	Coordinator__BarrierRequest m = COORDINATOR__BARRIER_REQUEST__INIT;

	m.barrier_id = "x";
	m.worker_id = id;
	m.step = step;
	return ask(h, conn, "WaitBarrier", &m);
}

static void steps_are_counted_from_0(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	join(h, 2, "b");
	for (int64_t step = 0; step < 4; step++) {
		uint64_t a = ask_step(h, 1, "a", step);

		expect_waiting(h, a);
		released(h, ask_step(h, 2, "b", step));
		assert_int_equal(released(h, a)->generation, step + 1);
		if (step)
			released(h, ask_step(h, 1, "a", step)); /* again */
		host_restart(h);
	}
}

/* It does not count as the coordinator does: nobody knows which use it means. */
static void who_came_without_a_number_names_another_use(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	join(h, 2, "b");
	ask_barrier(h, 1, "a", "x", 0);
	released(h, ask_barrier(h, 2, "b", "x", 1));
	for (int restarted = 0; restarted < 2; restarted++) {
		expect_says(expect(h, ask_barrier(h, 1, "a", "x", 1),
				   COORD_FAILED_PRECONDITION),
			    "came to it without a number");
		released(h, ask_barrier(h, 2, "b", "x", 1));
		host_restart(h);
	}
}

static void a_lost_answer_is_told_again_without_a_number(void **state)
{
	struct host *h = *state;
	uint64_t a, b;

	join(h, 1, "a");
	join(h, 2, "b");
	a = ask_barrier(h, 1, "a", "x", 0);
	b = ask_barrier(h, 2, "b", "x", 0);
	released(h, a);
	coord_cancel(h->c, h->now, a);
	a = ask_barrier(h, 3, "a", "x", 0);
	assert_int_equal(released(h, a)->generation, 1);
	/* Once: the next is a new one. */
	a = ask_barrier(h, 3, "a", "x", 0);
	expect_waiting(h, a);
	b = ask_barrier(h, 2, "b", "x", 0);
	assert_int_equal(released(h, a)->generation, 2);
	released(h, b);
}

static uint64_t ask_meet_again(struct host *h, uint64_t conn, const char *id,
			       bool again)
{
	Roar__MeetRequest m = ROAR__MEET_REQUEST__INIT;

	m.worker_id = (char *)id;
	m.meeting_id = "x";
	m.again = again;
	return ask(h, conn, "Meet", &m);
}

/* The server was killed between the record and the replies: it cannot know what was lost. */
static void a_first_answer_that_may_be_lost_is_told_again(void **state)
{
	struct host *h = *state;
	uint64_t a, b;

	join(h, 1, "a");
	join(h, 2, "b");
	a = ask_meet_again(h, 1, "a", false);
	b = ask_meet_again(h, 2, "b", true); /* nothing was lost yet */
	expect(h, b, COORD_OK);
	host_restart(h);
	b = ask_barrier(h, 2, "b", "x", 2);
	a = ask_meet_again(h, 1, "a", true);
	assert_int_equal(
		MESSAGE(expect(h, a, COORD_OK), Roar__MeetReply)->generation,
		1);
	a = ask_barrier(h, 1, "a", "x", 2);
	released(h, a);
	released(h, b);
	/* A successor was not there. */
	gone(h, 1);
	join(h, 3, "a");
	a = ask_meet_again(h, 3, "a", true);
	expect_waiting(h, a);
}

static void a_job_started_anew_may_count_anew(void **state)
{
	struct host *h = *state;
	uint64_t a, b;

	join(h, 1, "a");
	join(h, 2, "b");
	for (uint64_t g = 1; g <= 3; g++) {
		ask_barrier(h, 1, "a", "x", g);
		ask_barrier(h, 2, "b", "x", g);
	}
	gone(h, 1);
	join(h, 3, "a");
	/* The new process was not there, and 'b' goes on counting. */
	expect(h, ask_barrier(h, 3, "a", "x", 3), COORD_FAILED_PRECONDITION);
	expect(h, ask_barrier(h, 3, "a", "x", 1), COORD_FAILED_PRECONDITION);
	gone(h, 2);
	join(h, 4, "b");
	a = ask_barrier(h, 3, "a", "x", 3);
	expect_waiting(h, a);
	coord_cancel(h->c, h->now, a);
	a = ask_barrier(h, 3, "a", "x", 1);
	expect_waiting(h, a);
	b = ask_barrier(h, 4, "b", "x", 1);
	assert_int_equal(released(h, a)->generation, 1);
	released(h, b);
}

/* Who joins later asks for a generation that the others have left behind. */
static void a_restart_does_not_outlive_a_release(void **state)
{
	struct host *h = *state;
	const Coordinator__WorkerConfig *a = join(h, 1, "a");
	uint64_t again;

	expect(h, ask_barrier(h, 1, "a", "x", 7), COORD_OK);
	join(h, 2, "late");
	host_restart(h);
	expect_says(expect(h, ask_barrier(h, 2, "late", "x", 3),
			   COORD_FAILED_PRECONDITION),
		    "generation 3 of barrier 'x' is over");
	expect(h, ask_register(h, 3, "a", a->session), COORD_OK);
	again = ask_barrier(h, 3, "a", "x", 8);
	expect_waiting(h, again);
	expect(h, ask_barrier(h, 2, "late", "x", 8), COORD_OK);
	expect(h, again, COORD_OK);
}

static void who_was_there_ends_a_use_of_old(void **state)
{
	struct host *h = *state;
	uint64_t late, other, a;

	join(h, 1, "a");
	expect(h, ask_barrier(h, 1, "a", "x", 7), COORD_OK);
	join(h, 2, "late");
	join(h, 3, "other");
	gone(h, 1);
	late = ask_barrier(h, 2, "late", "x", 3);
	other = ask_barrier(h, 3, "other", "x", 3);
	expect_waiting(h, late);
	a = ask_barrier(h, 4, "a", "x", 8);
	expect_says(expect(h, late, COORD_FAILED_PRECONDITION),
		    "worker 'a' (rank 0), which was in generation 7, is back");
	expect(h, other, COORD_FAILED_PRECONDITION);
	expect_waiting(h, a);
	expect_waiting(h, ask_barrier(h, 2, "late", "x", 8));
	expect(h, ask_barrier(h, 3, "other", "x", 8), COORD_OK);
	expect(h, a, COORD_OK);
}

static void an_answer_is_forgotten_with_its_worker(void **state)
{
	struct host *h = *state;
	uint64_t a;

	join(h, 1, "a");
	a = ask_barrier(h, 1, "a", "x", 0);
	expect(h, a, COORD_OK);
	expect(h, ask_deregister(h, 1, "a"), COORD_OK);
	coord_cancel(h->c, h->now, a);
	join(h, 1, "a");
	expect(h, ask_barrier(h, 1, "a", "x", 0), COORD_OK);
}

static void old_releases_are_forgotten(void **state)
{
	struct coord_limits limits = { .max_meetings = 3 };
	struct host *h = host_new(&limits);
	char id[8];

	(void)state;
	join(h, 1, "a");
	for (int i = 0; i < 5; i++) {
		snprintf(id, sizeof(id), "x%d", i);
		released(h, ask_barrier(h, 1, "a", id, 7));
	}
	released(h, ask_barrier(h, 1, "a", "x4", 7));
	expect(h, ask_barrier(h, 1, "a", "x4", 6), COORD_FAILED_PRECONDITION);
	/* x1 is not known any more, so its numbers begin again. */
	assert_int_equal(
		released(h, ask_barrier(h, 1, "a", "x1", 0))->generation, 1);
	host_check_replay(h);
	host_free(h);
}

static void the_numbers_outlive_the_last_worker(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	released(h, ask_barrier(h, 1, "a", "x", 5));
	expect(h, ask_deregister(h, 1, "a"), COORD_OK);
	join(h, 1, "a");
	assert_int_equal(
		released(h, ask_barrier(h, 1, "a", "x", 0))->generation, 6);
}

/* A number at the end of all numbers would leave none for the next. */
static void numbers_have_successors(void **state)
{
	struct host *h = *state;
	uint64_t most = UINT64_C(1) << 62;
	Coordinator__BarrierRequest m = COORDINATOR__BARRIER_REQUEST__INIT;

	join(h, 1, "a");
	expect(h, ask_barrier(h, 1, "a", "x", most + 1),
	       COORD_INVALID_ARGUMENT);
	m.worker_id = "a";
	m.barrier_id = "x";
	m.step = INT64_MAX;
	expect(h, ask(h, 1, "WaitBarrier", &m), COORD_INVALID_ARGUMENT);
	released(h, ask_barrier(h, 1, "a", "x", most));
	assert_int_equal(released(h, ask_barrier(h, 1, "a", "x", 0))->generation,
			 most + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(uses_are_numbered_and_old_ones_refused),
		TEST(the_last_answer_is_given_again),
		TEST(the_step_tells_the_generation),
		TEST(steps_are_counted_from_0),
		TEST(who_came_without_a_number_names_another_use),
		TEST(a_lost_answer_is_told_again_without_a_number),
		TEST(a_first_answer_that_may_be_lost_is_told_again),
		TEST(a_job_started_anew_may_count_anew),
		TEST(a_restart_does_not_outlive_a_release),
		TEST(who_was_there_ends_a_use_of_old),
		TEST(an_answer_is_forgotten_with_its_worker),
		cmocka_unit_test(old_releases_are_forgotten),
		TEST(the_numbers_outlive_the_last_worker),
		TEST(numbers_have_successors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
