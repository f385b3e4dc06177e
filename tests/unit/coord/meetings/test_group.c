/* test_group.c - meetings of a group, gathers and votes. */
#include "meeting_helpers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *const ab[] = { "a", "b" };
static char *const ba[] = { "b", "a", "b" };
static char *const ac[] = { "a", "c" };

static Roar__MeetRequest meet(const char *id, char *const *group, size_t n)
{
	Roar__MeetRequest m = ROAR__MEET_REQUEST__INIT;

	m.worker_id = (char *)id;
	m.meeting_id = "g";
	m.group = (char **)group;
	m.n_group = n;
	return m;
}

static uint64_t ask_group(struct host *h, uint64_t conn, const char *id,
			  char *const *group, size_t n)
{
	Roar__MeetRequest m = meet(id, group, n);

	return ask(h, conn, "Meet", &m);
}

static const Roar__MeetReply *met(struct host *h, uint64_t call)
{
	return MESSAGE(expect(h, call, COORD_OK), Roar__MeetReply);
}

static void a_group_waits_for_its_own_alone(void **state)
{
	struct host *h = *state;
	uint64_t a, b;

	join_abc(h);
	a = ask_group(h, 1, "a", ab, 2);
	expect_waiting(h, a);
	b = ask_group(h, 2, "b", ba, 3);
	assert_int_equal(met(h, a)->participants, 2);
	assert_int_equal(met(h, b)->arrival_order, 2);
}

/* All who were there agree on who they were, whatever the world is by now. */
static void places_follow_from_ranks(void **state)
{
	struct host *h = *state;
	Roar__MeetRequest m = meet("a", NULL, 0);
	uint64_t a, b, c;

	join_abc(h);
	c = ask_group(h, 3, "c", NULL, 0);
	b = ask_group(h, 2, "b", NULL, 0);
	a = ask_group(h, 1, "a", NULL, 0);
	assert_int_equal(met(h, a)->place, 0);
	assert_int_equal(met(h, b)->place, 1);
	assert_int_equal(met(h, c)->place, 2);
	assert_int_equal(met(h, c)->world_epoch, 3);
	assert_int_equal(met(h, a)->world_epoch, 3);

	c = ask_group(h, 3, "c", ac, 2);
	a = ask_group(h, 1, "a", ac, 2);
	assert_int_equal(met(h, a)->place, 0);
	assert_int_equal(met(h, c)->place, 1);

	gone(h, 1);
	pass_ms(h, 10000);
	m.on_death = ROAR__ON_DEATH__SHRINK;
	m.worker_id = "c";
	m.meeting_id = "s";
	c = ask(h, 3, "Meet", &m);
	m.worker_id = "b";
	b = ask(h, 2, "Meet", &m);
	assert_int_equal(met(h, b)->place, 0);
	assert_int_equal(met(h, c)->place, 1);
	assert_int_equal(met(h, c)->participants, 2);
	assert_true(met(h, c)->world_epoch > 3);
}

static uint64_t vote(struct host *h, uint64_t conn, const char *id,
		     const char *value)
{
	Roar__MeetRequest m = meet(id, NULL, 0);

	m.kind = ROAR__MEET_KIND__VOTE;
	m.meeting_id = "v";
	m.value.data = (uint8_t *)value;
	m.value.len = strlen(value);
	return ask(h, conn, "Meet", &m);
}

static void a_vote_tells_which_values_there_are(void **state)
{
	struct host *h = *state;
	char id[] = "a", large[4098];
	const Roar__MeetReply *m;
	uint64_t c;

	join_abc(h);
	c = vote(h, 3, "c", "x");
	vote(h, 2, "b", "yy");
	m = met(h, vote(h, 1, "a", "x"));
	assert_int_equal(m->n_values, 2);
	assert_string_equal(m->values[0]->worker_id, "a");
	assert_int_equal(m->values[0]->value.len, 1);
	assert_string_equal(m->values[1]->worker_id, "b");
	assert_memory_equal(m->values[1]->value.data, "yy", 2);
	assert_false(m->more_values);
	assert_int_equal(met(h, c)->n_values, 2);

	vote(h, 3, "c", "");
	vote(h, 2, "b", "");
	assert_int_equal(met(h, vote(h, 1, "a", ""))->n_values, 0);

	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	expect(h, vote(h, 1, "a", large), COORD_INVALID_ARGUMENT);
	for (int i = 3; i < 6; i++) {
		id[0] = (char)('a' + i);
		join(h, (uint64_t)i + 1, id);
	}
	for (int i = 0; i < 6; i++) {
		id[0] = (char)('a' + i);
		c = vote(h, (uint64_t)i + 1, id, id);
	}
	assert_int_equal(met(h, c)->n_values, 4);
	assert_true(met(h, c)->more_values);
	host_restart(h);
}

static void others_and_other_groups_are_refused(void **state)
{
	struct host *h = *state;
	Roar__MeetRequest m = meet("b", ab, 2);
	uint64_t a;

	join_abc(h);
	expect_says(expect(h, ask_group(h, 3, "c", ab, 2),
			   COORD_INVALID_ARGUMENT),
		    "not in the group");
	a = ask_group(h, 1, "a", ab, 2);
	expect_says(expect(h, ask_group(h, 3, "c", ac, 2),
			   COORD_INVALID_ARGUMENT),
		    "another group");
	expect(h, ask_group(h, 3, "c", ab, 2), COORD_INVALID_ARGUMENT);
	expect(h, ask_group(h, 2, "b", NULL, 0), COORD_INVALID_ARGUMENT);
	m.kind = ROAR__MEET_KIND__VOTE;
	expect_says(expect(h, ask(h, 2, "Meet", &m), COORD_INVALID_ARGUMENT),
		    "not as a vote");
	expect_waiting(h, a);
	m.kind = 7;
	expect(h, ask(h, 2, "Meet", &m), COORD_INVALID_ARGUMENT);
}

static void all_of_a_group_must_be_known(void **state)
{
	struct host *h = *state;

	join(h, 1, "a");
	expect_says(expect(h, ask_group(h, 1, "a", ab, 2), COORD_NOT_FOUND),
		    "no worker 'b'");
}

static void who_leaves_the_job_leaves_the_group(void **state)
{
	struct host *h = *state;
	uint64_t a;

	join_abc(h);
	a = ask_group(h, 1, "a", ab, 2);
	expect(h, ask_deregister(h, 2, "b"), COORD_OK);
	assert_int_equal(met(h, a)->participants, 1);
	assert_int_equal(met(h, a)->n_missing, 0);
}

static void death_in_a_group(void **state)
{
	struct host *h = *state;
	Roar__MeetRequest fail = meet("a", ab, 2), shrink = fail, wait = fail;
	uint64_t f, s, w;

	join_abc(h);
	fail.meeting_id = "f";
	fail.on_death = ROAR__ON_DEATH__FAIL;
	shrink.meeting_id = "s";
	shrink.on_death = ROAR__ON_DEATH__SHRINK;
	wait.meeting_id = "w";
	wait.on_death = ROAR__ON_DEATH__WAIT;
	f = ask(h, 1, "Meet", &fail);
	s = ask(h, 1, "Meet", &shrink);
	w = ask(h, 1, "Meet", &wait);
	gone(h, 2);
	pass_ms(h, 10000);
	expect(h, f, COORD_ABORTED);
	assert_int_equal(met(h, s)->n_missing, 1);
	assert_string_equal(met(h, s)->missing[0], "b");
	expect_waiting(h, w);
	/* One who is dead when it begins. */
	f = ask(h, 1, "Meet", &fail);
	assert_string_equal(expect(h, f, COORD_ABORTED)->names[0], "b");
	s = ask(h, 1, "Meet", &shrink);
	assert_int_equal(met(h, s)->n_missing, 1);
	join(h, 4, "b");
	wait.worker_id = "b";
	expect(h, ask(h, 4, "Meet", &wait), COORD_OK);
	met(h, w);
}

static void the_death_of_others_does_not_matter(void **state)
{
	struct host *h = *state;
	uint64_t a;

	join_abc(h);
	a = ask_group(h, 1, "a", ab, 2);
	gone(h, 3);
	pass_ms(h, 14000);
	expect_waiting(h, a);
	ask_group(h, 2, "b", ab, 2);
	met(h, a);
}

static void values_are_gathered_by_rank(void **state)
{
	struct host *h = *state;
	Roar__MeetRequest m = meet("c", NULL, 0);
	const Roar__MeetReply *reply;
	uint64_t c;

	join_abc(h);
	m.generation = 1;
	m.kind = ROAR__MEET_KIND__GATHER;
	m.value.data = (uint8_t *)"of c";
	m.value.len = 4;
	c = ask(h, 3, "Meet", &m);
	m.worker_id = "b";
	m.value.len = 0;
	ask(h, 2, "Meet", &m);
	m.worker_id = "a";
	m.value.data = (uint8_t *)"of a";
	m.value.len = 4;
	ask(h, 1, "Meet", &m);
	for (int again = 0; again < 2; again++) {
		reply = met(h, c);
		assert_int_equal(reply->n_values, 3);
		assert_string_equal(reply->values[0]->worker_id, "a");
		assert_memory_equal(reply->values[0]->value.data, "of a", 4);
		assert_int_equal(reply->values[1]->value.len, 0);
		assert_memory_equal(reply->values[2]->value.data, "of c", 4);
		host_restart(h);
		m.worker_id = "c";
		c = ask(h, 3, "Meet", &m);
	}
}

static void values_are_bounded(void **state)
{
	struct host *h = *state;
	Roar__MeetRequest m = meet("a", NULL, 0);
	static uint8_t much[65537];
	uint64_t last = 0;
	char id[16];

	join_abc(h);
	m.kind = ROAR__MEET_KIND__GATHER;
	m.value.data = much;
	m.value.len = sizeof(much);
	expect(h, ask(h, 1, "Meet", &m), COORD_INVALID_ARGUMENT);
	m.value.len--;
	m.worker_id = id;
	for (int i = 0; i < 300; i++) {
		snprintf(id, sizeof(id), "w%d", i);
		join(h, 10, id);
		last = ask(h, 10, "Meet", &m);
		if (reply_at(h, last, 0))
			break;
	}
	expect_says(expect(h, last, COORD_RESOURCE_EXHAUSTED), "gather");
	expect(h, last - 2, COORD_RESOURCE_EXHAUSTED);
}

static uint64_t ask_gather(struct host *h, const char *id, uint64_t generation,
			   size_t len)
{
	static uint8_t value[64 << 10];
	Roar__MeetRequest m = meet(id, NULL, 0);

	m.kind = ROAR__MEET_KIND__GATHER;
	m.generation = generation;
	m.value.data = value;
	m.value.len = len;
	return ask(h, 10, "Meet", &m);
}

/* 64 of 64 KiB are all that may be; there is one more worker, and "late". */
static uint64_t gather_as_much_as_may_be(struct host *h)
{
	uint64_t last = 0;
	char id[8];

	for (int i = 0; i < 65; i++) {
		snprintf(id, sizeof(id), "w%d", i);
		join(h, 10, id);
	}
	join(h, 10, "late");
	for (int i = 0; i < 64; i++) {
		snprintf(id, sizeof(id), "w%d", i);
		last = ask_gather(h, id, 5, 64 << 10);
	}
	expect_waiting(h, last);
	return last;
}

static void who_gathers_again_counts_once(void **state)
{
	struct host *h = *state;
	uint64_t last = gather_as_much_as_may_be(h);

	expect_waiting(h, ask_gather(h, "w0", 5, 64 << 10));
	expect_waiting(h, last);
}

static void who_comes_after_a_gather_failed_is_told_so(void **state)
{
	struct host *h = *state;
	uint64_t last = gather_as_much_as_may_be(h);
	const struct reply *r;

	expect_says(expect(h, ask_gather(h, "w64", 5, 64 << 10),
			   COORD_RESOURCE_EXHAUSTED),
		    "65 workers brought 4259840 bytes");
	r = expect(h, last, COORD_RESOURCE_EXHAUSTED);
	expect_says(expect(h, ask_gather(h, "late", 5, 1),
			   COORD_RESOURCE_EXHAUSTED),
		    r->sentence);
	/* Who knows may try again, and those who come then wait with it. */
	expect_waiting(h, ask_gather(h, "w3", 5, 1));
	expect_waiting(h, ask_gather(h, "late", 5, 1));
}

static void another_generation_ends_the_memory_of_a_failure(void **state)
{
	struct host *h = *state;

	gather_as_much_as_may_be(h);
	ask_gather(h, "w64", 5, 64 << 10);
	coord_cancel(h->c, h->now, ask_gather(h, "w0", 6, 1));
	expect_waiting(h, ask_gather(h, "late", 5, 1));
}

static void votes_are_counted(void **state)
{
	struct host *h = *state;
	Roar__MeetRequest m = meet("a", NULL, 0);
	uint64_t a;

	join_abc(h);
	m.kind = ROAR__MEET_KIND__VOTE;
	m.in_favour = true;
	a = ask(h, 1, "Meet", &m);
	m.worker_id = "b";
	ask(h, 2, "Meet", &m);
	m.worker_id = "c";
	m.in_favour = false;
	ask(h, 3, "Meet", &m);
	assert_int_equal(met(h, a)->votes_for, 2);
	assert_int_equal(met(h, a)->votes_against, 1);
}

static void a_worker_may_wait_in_several(void **state)
{
	struct host *h = *state;
	uint64_t all, pair;

	join_abc(h);
	pair = ask_group(h, 1, "a", ab, 2);
	all = ask_barrier(h, 1, "a", "x", 0);
	ask_group(h, 2, "b", ab, 2);
	met(h, pair);
	expect_waiting(h, all);
	ask_barrier(h, 2, "b", "x", 0);
	ask_barrier(h, 3, "c", "x", 0);
	expect(h, all, COORD_OK);
}

static void too_many_waits_are_refused(void **state)
{
	struct coord_limits limits = { .max_waiting = 3, .max_meetings = 2 };
	struct host *h = host_new(&limits);

	(void)state;
	join_abc(h);
	ask_barrier(h, 1, "a", "x", 0);
	ask_barrier(h, 1, "a", "y", 0);
	expect(h, ask_barrier(h, 1, "a", "z", 0), COORD_RESOURCE_EXHAUSTED);
	ask_barrier(h, 2, "b", "x", 0);
	expect(h, ask_barrier(h, 2, "b", "y", 0), COORD_RESOURCE_EXHAUSTED);
	host_free(h);
}

struct ended {
	int n;
	int64_t wait_ms, skew_ms;
	bool released;
};

static void on_end(void *data, int64_t wait_ms, int64_t skew_ms, bool released)
{
	struct ended *e = data;

	*e = (struct ended){ e->n + 1, wait_ms, skew_ms, released };
}

static void ends_are_told_for_histograms(void **state)
{
	struct host *h = *state;
	struct ended e = { 0 };
	uint64_t a;

	join_abc(h);
	coord_on_meeting(h->c, on_end, &e);
	ask_group(h, 1, "a", ab, 2);
	pass_ms(h, 40);
	ask_group(h, 2, "b", ab, 2);
	assert_int_equal(e.n, 1);
	assert_int_equal(e.skew_ms, 40);
	assert_int_equal(e.wait_ms, 40);
	assert_true(e.released);
	a = ask_group(h, 1, "a", ab, 2);
	pass_ms(h, 5);
	coord_cancel(h->c, h->now, a);
	assert_int_equal(e.n, 2);
	assert_false(e.released);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_group_waits_for_its_own_alone),
		TEST(a_vote_tells_which_values_there_are),
		TEST(places_follow_from_ranks),
		TEST(others_and_other_groups_are_refused),
		TEST(all_of_a_group_must_be_known),
		TEST(who_leaves_the_job_leaves_the_group),
		TEST(death_in_a_group),
		TEST(the_death_of_others_does_not_matter),
		TEST(values_are_gathered_by_rank),
		TEST(values_are_bounded),
		TEST(who_gathers_again_counts_once),
		TEST(who_comes_after_a_gather_failed_is_told_so),
		TEST(another_generation_ends_the_memory_of_a_failure),
		TEST(votes_are_counted),
		TEST(a_worker_may_wait_in_several),
		cmocka_unit_test(too_many_waits_are_refused),
		TEST(ends_are_told_for_histograms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
