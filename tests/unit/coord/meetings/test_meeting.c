/* test_meeting.c - barriers of all workers: which workers are waited for and answered. */
#include "meeting_helpers.h"

#include <stdio.h>

static void all_are_released_when_the_last_comes(void **state)
{
	struct host *h = *state;
	const Coordinator__BarrierResponse *m;
	uint64_t a, b, c;

	join_abc(h);
	a = ask_barrier(h, 1, "a", "x", 0);
	pass_ms(h, 100);
	c = ask_barrier(h, 3, "c", "x", 0);
	pass_ms(h, 50);
	expect_waiting(h, a);
	expect_waiting(h, c);
	b = ask_barrier(h, 2, "b", "x", 0);
	m = released(h, a);
	assert_int_equal(m->participants, 3);
	assert_int_equal(m->arrival_order, 1);
	assert_int_equal(m->generation, 1);
	assert_int_equal(m->n_late, 2);
	assert_string_equal(m->late[0]->worker_id, "b");
	assert_int_equal(m->late[0]->late_ms, 150);
	assert_int_equal(m->late[1]->late_ms, 100);
	assert_int_equal(released(h, c)->arrival_order, 2);
	assert_int_equal(released(h, b)->arrival_order, 3);
}

/* 1.3 (a) of the reference: a retry counts twice. */
static void who_asks_again_counts_once(void **state)
{
	struct host *h = *state;
	uint64_t first, again, b, c;

	join_abc(h);
	first = ask_barrier(h, 1, "a", "x", 0);
	b = ask_barrier(h, 2, "b", "x", 0);
	again = ask_barrier(h, 4, "a", "x", 0);
	expect_says(expect(h, first, COORD_ABORTED), "asked again");
	expect_waiting(h, again);
	expect_waiting(h, b);
	c = ask_barrier(h, 3, "c", "x", 0);
	assert_int_equal(released(h, again)->arrival_order, 1);
	assert_int_equal(released(h, b)->participants, 3);
	released(h, c);
}

/* (b): a waiter misses the release.  An arrival and its wait are one step here, so all who
 * arrived are answered, in whichever order they came. */
static void nobody_misses_the_release(void **state)
{
	struct host *h = *state;
	uint64_t calls[50];
	char id[8];

	for (int i = 0; i < 50; i++) {
		snprintf(id, sizeof(id), "w%d", i);
		join(h, (uint64_t)i + 1, id);
	}
	for (uint64_t g = 1; g <= 5; g++) {
		for (int i = 0; i < 50; i++) {
			snprintf(id, sizeof(id), "w%d", (i * 7) % 50);
			calls[i] = ask_barrier(h, (uint64_t)(i * 7) % 50 + 1,
					       id, "x", 0);
		}
		for (int i = 0; i < 50; i++)
			assert_int_equal(released(h, calls[i])->generation, g);
	}
}

/* (c): a change of members does not alter what is expected. */
static void who_joins_meanwhile_is_waited_for(void **state)
{
	struct host *h = *state;
	uint64_t a, b, c;

	join(h, 1, "a");
	join(h, 2, "b");
	a = ask_barrier(h, 1, "a", "x", 0);
	join(h, 3, "c");
	b = ask_barrier(h, 2, "b", "x", 0);
	expect_waiting(h, a);
	expect_waiting(h, b);
	c = ask_barrier(h, 3, "c", "x", 0);
	assert_int_equal(released(h, a)->participants, 3);
	released(h, b);
	released(h, c);
}

static void who_leaves_is_not_waited_for(void **state)
{
	struct host *h = *state;
	uint64_t a, b;

	join_abc(h);
	a = ask_barrier(h, 1, "a", "x", 0);
	b = ask_barrier(h, 2, "b", "x", 0);
	expect_waiting(h, a);
	expect(h, ask_deregister(h, 3, "c"), COORD_OK);
	assert_int_equal(released(h, a)->participants, 2);
	released(h, b);
}

/* (d): arrivals whose time is over are not subtracted. */
static void who_gave_up_is_not_counted(void **state)
{
	struct host *h = *state;
	const struct reply *r;
	uint64_t a, b, c;

	join_abc(h);
	h->timeout_ms = 1000;
	a = ask_barrier(h, 1, "a", "x", 0);
	h->timeout_ms = 0;
	b = ask_barrier(h, 2, "b", "x", 0);
	pass_ms(h, 1500);
	r = expect(h, a, COORD_DEADLINE_EXCEEDED);
	expect_says(r, "1 of 3 workers are absent: 'c' (rank 2, last contact");
	assert_int_equal(r->n_names, 1);
	assert_string_equal(r->names[0], "c");
	c = ask_barrier(h, 3, "c", "x", 0);
	expect_waiting(h, b);
	expect_waiting(h, c);
	a = ask_barrier(h, 1, "a", "x", 0);
	assert_int_equal(released(h, a)->arrival_order, 3);
	assert_int_equal(released(h, b)->arrival_order, 1);
	released(h, c);
}

static void all_whose_time_is_over_are_told_the_same(void **state)
{
	struct host *h = *state;
	uint64_t a, b;
	const struct reply *r;

	join_abc(h);
	h->timeout_ms = 1000;
	a = ask_barrier(h, 1, "a", "x", 0);
	b = ask_barrier(h, 2, "b", "x", 0);
	pass_ms(h, 1000);
	for (int i = 0; i < 2; i++) {
		r = expect(h, i ? b : a, COORD_DEADLINE_EXCEEDED);
		assert_int_equal(r->n_names, 1);
		assert_string_equal(r->names[0], "c");
	}
}

/* (g): without workers every call returns at once. */
static void nobody_passes_without_being_a_member(void **state)
{
	struct host *h = *state;

	expect(h, ask_barrier(h, 1, "a", "x", 0), COORD_NOT_FOUND);
	join(h, 1, "a");
	expect(h, ask_barrier(h, 1, "b", "x", 0), COORD_NOT_FOUND);
}

static void nobody_passes_before_the_job_is_ready(void **state)
{
	struct host *h = *state;
	Roar__JobSettings s = ROAR__JOB_SETTINGS__INIT;
	uint64_t a;

	s.min_workers = 2;
	configure(h, &s);
	join(h, 1, "a");
	h->timeout_ms = 1000;
	a = ask_barrier(h, 1, "a", "x", 0);
	pass_ms(h, 1000);
	expect_says(expect(h, a, COORD_DEADLINE_EXCEEDED),
		    "has 1 of the 2 workers it needs");
	h->timeout_ms = 0;
	a = ask_barrier(h, 1, "a", "x", 0);
	s.min_workers = 1;
	configure(h, &s);
	released(h, a);
}

static void start_with(struct host *h, int32_t n)
{
	Roar__JobSettings s = ROAR__JOB_SETTINGS__INIT;

	s.start_workers = n;
	s.on_death = ROAR__ON_DEATH__SHRINK;
	configure(h, &s);
}

static void a_job_that_has_begun_goes_on_with_fewer(void **state)
{
	struct host *h = *state;
	uint64_t a, b;

	start_with(h, 3);
	join(h, 1, "a");
	join(h, 2, "b");
	h->timeout_ms = 1000;
	a = ask_barrier(h, 1, "a", "x", 0);
	b = ask_barrier(h, 2, "b", "x", 0);
	pass_ms(h, 1000);
	expect_says(expect(h, a, COORD_DEADLINE_EXCEEDED),
		    "has 2 of the 3 workers it needs");
	h->timeout_ms = 0;
	join(h, 3, "c");
	expect(h, ask_deregister(h, 3, "c"), COORD_OK);
	start_with(h, 3); /* as one that is started again says it */
	host_restore(h);
	ask_barrier(h, 1, "a", "x", 0);
	released(h, ask_barrier(h, 2, "b", "x", 0));
	gone(h, 2);
	b = ask_barrier(h, 1, "a", "x", 0);
	expect_waiting(h, b);
	pass_ms(h, 10000);
	released(h, b);
	assert_true(beat(h, 1, "a")->ready);
	start_with(h, 2);
	assert_false(beat(h, 1, "a")->ready);
}

/* Places of those who were there are held, and one of the new ones comes first. */
static void a_job_that_is_started_anew_begins_anew(void **state)
{
	struct host *h = *state;
	uint64_t a, b;

	start_with(h, 2);
	join(h, 1, "a");
	join(h, 2, "b");
	gone(h, 1);
	gone(h, 2);
	pass_ms(h, 10000);
	join(h, 3, "a");
	a = ask_barrier(h, 3, "a", "x", 0);
	expect_waiting(h, a);
	host_restore(h);
	a = ask_barrier(h, 3, "a", "x", 0);
	expect_waiting(h, a);
	join(h, 4, "b");
	b = ask_barrier(h, 4, "b", "x", 0);
	released(h, a);
	released(h, b);
}

static void a_cancelled_arrival_leaves(void **state)
{
	struct host *h = *state;
	uint64_t a, b;

	join(h, 1, "a");
	join(h, 2, "b");
	a = ask_barrier(h, 1, "a", "x", 0);
	coord_cancel(h->c, h->now, a);
	b = ask_barrier(h, 2, "b", "x", 0);
	expect_waiting(h, a);
	expect_waiting(h, b);
	a = ask_barrier(h, 1, "a", "x", 0);
	assert_int_equal(released(h, b)->arrival_order, 1);
	released(h, a);
}

static void an_arrival_ends_with_its_connection(void **state)
{
	struct host *h = *state;
	uint64_t a, b;

	join(h, 1, "a");
	join(h, 2, "b");
	a = ask_barrier(h, 1, "a", "x", 0);
	gone(h, 1);
	b = ask_barrier(h, 2, "b", "x", 0);
	expect_waiting(h, b);
	assert_int_equal(worker(h, "a")->state,
			 ROAR__WORKER_VIEW__STATE__SUSPECT);
	a = ask_barrier(h, 3, "a", "x", 0);
	released(h, a);
	released(h, b);
}

static void what_cannot_be_recorded_is_not_released(void **state)
{
	struct host *h = *state;
	uint64_t a, b;

	join(h, 1, "a");
	join(h, 2, "b");
	a = ask_barrier(h, 1, "a", "x", 1);
	h->record_error = -28;
	b = ask_barrier(h, 2, "b", "x", 1);
	expect(h, a, COORD_RESOURCE_EXHAUSTED);
	expect(h, b, COORD_RESOURCE_EXHAUSTED);
	h->record_error = 0;
	a = ask_barrier(h, 1, "a", "x", 1);
	expect_waiting(h, a);
	b = ask_barrier(h, 2, "b", "x", 1);
	released(h, a);
	released(h, b);
}

static void who_waits_in_as_many_as_may_be_may_ask_again(void **state)
{
	struct host *h = *state;
	uint64_t calls[64];
	char name[8];

	join_abc(h);
	for (int i = 0; i < 64; i++) {
		snprintf(name, sizeof(name), "x%d", i);
		calls[i] = ask_barrier(h, 1, "a", name, 0);
	}
	expect_says(expect(h, ask_barrier(h, 1, "a", "y", 0),
			   COORD_RESOURCE_EXHAUSTED),
		    "64 barriers");
	expect_waiting(h, ask_barrier(h, 1, "a", "x7", 0));
	expect(h, calls[7], COORD_ABORTED);
	expect_waiting(h, calls[8]);
}

/* Where it gave up is forgotten beyond a number: it is named like one who never came,
 * before "a", who came once. */
static void giving_up_is_not_remembered_without_end(void **state)
{
	struct host *h = *state;
	const struct reply *r;
	uint64_t c;
	char name[8];

	join_abc(h);
	h->timeout_ms = 1000;
	c = ask_barrier(h, 3, "c", "x", 0);
	coord_cancel(h->c, h->now, ask_barrier(h, 2, "b", "x", 0));
	coord_cancel(h->c, h->now, ask_barrier(h, 1, "a", "x", 0));
	for (int i = 0; i < 64; i++) {
		snprintf(name, sizeof(name), "y%d", i);
		ask_barrier(h, i < 32 ? 1 : 3, i < 32 ? "a" : "c", name, 0);
		coord_cancel(h->c, h->now, ask_barrier(h, 2, "b", name, 0));
	}
	pass_ms(h, 1000);
	r = expect(h, c, COORD_DEADLINE_EXCEEDED);
	assert_string_equal(r->names[0], "b");
	assert_string_equal(r->names[1], "a");
}

static void barriers_under_way_are_listed(void **state)
{
	struct host *h = *state;
	Roar__ListBarriersRequest m = ROAR__LIST_BARRIERS_REQUEST__INIT;
	const Roar__ListBarriersReply *list;

	join_abc(h);
	ask_barrier(h, 1, "a", "x", 9);
	pass_ms(h, 30);
	list = MESSAGE(expect(h, ask(h, 0, "ListBarriers", &m), COORD_OK),
		       Roar__ListBarriersReply);
	assert_int_equal(list->n_barriers, 1);
	assert_int_equal(list->barriers[0]->generation, 9);
	assert_int_equal(list->barriers[0]->arrived, 1);
	assert_int_equal(list->barriers[0]->expected, 3);
	assert_int_equal(list->barriers[0]->n_missing, 2);
	assert_int_equal(list->barriers[0]->age_ms, 30);
}

/* ---- standing aside ---- */

static uint64_t ask_aside(struct host *h, uint64_t conn, const char *worker,
			  const char *id)
{
	Roar__MeetRequest m = ROAR__MEET_REQUEST__INIT;

	m.worker_id = (char *)worker;
	m.meeting_id = (char *)id;
	m.aside = true;
	return ask(h, conn, "Meet", &m);
}

static void who_stands_aside_holds_up_no_other_meeting(void **state)
{
	struct host *h = *state;
	uint64_t a, b, late;

	join_abc(h);
	a = ask_barrier(h, 1, "a", "step", 0);
	b = ask_barrier(h, 2, "b", "step", 0);
	late = ask_aside(h, 3, "c", "loop");
	assert_int_equal(released(h, a)->participants, 2);
	released(h, b);
	a = ask_barrier(h, 1, "a", "step", 0);
	expect_waiting(h, a);
	b = ask_barrier(h, 2, "b", "step", 0);
	released(h, a);
	released(h, b);
	/* It is of the meeting it waits in, and of all others when that is over. */
	a = ask_aside(h, 1, "a", "loop");
	expect_waiting(h, late);
	b = ask_aside(h, 2, "b", "loop");
	expect(h, a, COORD_OK);
	expect(h, b, COORD_OK);
	expect(h, late, COORD_OK);
	a = ask_barrier(h, 1, "a", "step", 0);
	b = ask_barrier(h, 2, "b", "step", 0);
	expect_waiting(h, a);
	assert_int_equal(
		released(h, ask_barrier(h, 3, "c", "step", 0))->participants,
		3);
	released(h, a);
	released(h, b);
}

/* Its process may come to both, and gives up here. */
static void who_stands_aside_no_more_is_waited_for(void **state)
{
	struct host *h = *state;
	uint64_t a, late, both;

	join(h, 1, "a");
	join(h, 3, "c");
	h->timeout_ms = 100;
	late = ask_aside(h, 3, "c", "loop");
	h->timeout_ms = 0;
	both = ask_barrier(h, 3, "c", "step", 0);
	expect_waiting(h, both);
	a = ask_barrier(h, 1, "a", "step", 0);
	assert_int_equal(released(h, a)->participants, 2);
	released(h, both);
	pass_ms(h, 150);
	expect_says(expect(h, late, COORD_DEADLINE_EXCEEDED), "'a' (rank 0");
	a = ask_barrier(h, 1, "a", "step", 0);
	expect_waiting(h, a);
}

static void the_absent_are_told_with_where_they_wait(void **state)
{
	struct host *h = *state;
	uint64_t a, b;

	join(h, 1, "a");
	join(h, 2, "b");
	b = ask_barrier(h, 2, "b", "other", 0);
	h->timeout_ms = 100;
	a = ask_barrier(h, 1, "a", "one", 0);
	pass_ms(h, 150);
	expect_says(expect(h, a, COORD_DEADLINE_EXCEEDED), "waits in 'other')");
	expect_waiting(h, b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_are_released_when_the_last_comes),
		TEST(who_asks_again_counts_once),
		TEST(nobody_misses_the_release),
		TEST(who_joins_meanwhile_is_waited_for),
		TEST(who_leaves_is_not_waited_for),
		TEST(who_gave_up_is_not_counted),
		TEST(all_whose_time_is_over_are_told_the_same),
		TEST(nobody_passes_without_being_a_member),
		TEST(nobody_passes_before_the_job_is_ready),
		TEST(a_job_that_has_begun_goes_on_with_fewer),
		TEST(a_job_that_is_started_anew_begins_anew),
		TEST(a_cancelled_arrival_leaves),
		TEST(an_arrival_ends_with_its_connection),
		TEST(what_cannot_be_recorded_is_not_released),
		TEST(who_waits_in_as_many_as_may_be_may_ask_again),
		TEST(giving_up_is_not_remembered_without_end),
		TEST(barriers_under_way_are_listed),
		TEST(who_stands_aside_holds_up_no_other_meeting),
		TEST(who_stands_aside_no_more_is_waited_for),
		TEST(the_absent_are_told_with_where_they_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
