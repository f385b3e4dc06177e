/* test_explore.c - the explorer itself, with protocols whose faults are known. */
#include "explore.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "schedule.h"
#include "world.h"

enum { MANY = 1000000 };

/* What the tasks of all cases share. */
static struct {
	uint32_t flag[2], turn, inside, count, bell, item, lock, waiting;
	uint32_t pad[7];
} m;

_Static_assert(sizeof(m) == 64, "a whole line");

static uint32_t get(const uint32_t *word)
{
	explore_point(EXPLORE_LOAD, word, sizeof(*word));
	return *word;
}

static void set(uint32_t *word, uint32_t value)
{
	explore_point(EXPLORE_STORE, word, sizeof(*word));
	*word = value;
}

static bool swap(uint32_t *word, uint32_t old, uint32_t value)
{
	explore_point(EXPLORE_RMW, word, sizeof(*word));
	if (*word != old)
		return false;
	*word = value;
	return true;
}

static uint32_t zero, one = 1;

#define CASE(first, second, ...)                                                \
	{                                                                       \
		.name = __func__, .memory = &m, .size = sizeof(m),              \
		.preemptions = EXPLORE_UNBOUNDED,                               \
		.tasks = { { .name = #first,                                    \
			     .run = (first),                                    \
			     .arg = &zero,                                      \
			     .mortal = true },                                  \
			   { .name = #second, .run = (second), .arg = &one } }, \
		__VA_ARGS__                                                     \
	}

static struct explore_result explored(const struct explore_case *c)
{
	struct explore_result r;

	explore_all(c, MANY, &r);
	assert_true(r.failed || r.complete);
	return r;
}

/* ---- counting ---- */

static void three_steps(void *arg)
{
	uint32_t i = *(uint32_t *)arg;

	for (uint32_t n = 1; n <= 3; n++)
		set(&m.flag[i], n);
}

static void a_state_is_gone_into_once(void **state)
{
	struct explore_case c = CASE(three_steps, three_steps);
	struct explore_result r = explored(&c);

	(void)state;
	assert_false(r.failed);
	/* Each task has done 0 to 3 steps; where both have done 3 there is no choice
	 * any more. */
	assert_int_equal(r.n_states, 4 * 4 - 1);
}

static void without_preemptions_there_are_two_schedules(void **state)
{
	struct explore_case c = CASE(three_steps, three_steps);

	(void)state;
	c.preemptions = 0;
	assert_int_equal(explored(&c).n_schedules, 2);
}

static void each_place_of_death_is_tried_once(void **state)
{
	struct explore_case c = CASE(three_steps, three_steps, .kills = 1);
	struct explore_result r = explored(&c);

	(void)state;
	/* The mortal one lives, or has died before its 1st, 2nd or 3rd step. */
	assert_int_equal(r.n_states, 4 * 4 - 1 + 3 * 3);
}

/* ---- mutual exclusion ---- */

static void enter_and_leave(void)
{
	explore_check(!m.inside);
	set(&m.inside, 1);
	set(&m.inside, 0);
}

static void peterson(void *arg)
{
	uint32_t i = *(uint32_t *)arg;

	set(&m.flag[i], 1);
	set(&m.turn, !i);
	if (get(&m.flag[!i]) && get(&m.turn) != i)
		return; /* would spin; not getting in is enough here */
	enter_and_leave();
	set(&m.flag[i], 0);
}

static void peterson_the_wrong_way_round(void *arg)
{
	uint32_t i = *(uint32_t *)arg;

	set(&m.turn, !i);
	set(&m.flag[i], 1);
	if (get(&m.flag[!i]) && get(&m.turn) != i)
		return;
	enter_and_leave();
	set(&m.flag[i], 0);
}

static void a_right_lock_passes(void **state)
{
	struct explore_case c = CASE(peterson, peterson);

	(void)state;
	assert_false(explored(&c).failed);
}

static void a_wrong_lock_is_found_and_its_schedule_replays(void **state)
{
	struct explore_case c = CASE(peterson_the_wrong_way_round,
				     peterson_the_wrong_way_round);
	struct explore_result r = explored(&c), again;

	(void)state;
	assert_true(r.failed);
	assert_int_equal(explore_replay(&c, r.schedule, &again), 0);
	assert_true(again.failed);
	assert_string_equal(again.message, r.message);
}

static void a_failure_is_told_with_the_fewest_preemptions(void **state)
{
	struct explore_case c = CASE(peterson_the_wrong_way_round,
				     peterson_the_wrong_way_round);
	struct explore_result r = explored(&c);

	(void)state;
	assert_int_equal(r.preemptions, 2);
	c.preemptions = 1;
	assert_false(explored(&c).failed);
	c.preemptions = 2;
	assert_true(explored(&c).failed);
}

static void chance_finds_a_wrong_lock_too(void **state)
{
	struct explore_case c = CASE(peterson_the_wrong_way_round,
				     peterson_the_wrong_way_round);
	struct explore_result r, again;

	(void)state;
	explore_random(&c, 1, 10, &r);
	assert_true(r.failed);
	assert_int_equal(explore_replay(&c, r.schedule, &again), 0);
	assert_true(again.failed);
}

/* ---- sleeping ---- */

static void send(void *arg)
{
	(void)arg;
	set(&m.item, 1);
	if (!get(&m.waiting))
		return;
	set(&m.bell, m.bell + 1);
	explore_wake(&m.bell);
}

static void receive(void *arg)
{
	uint32_t bell = get(&m.bell);

	(void)arg;
	set(&m.waiting, 1);
	while (!get(&m.item))
		explore_wait(&m.bell, bell);
}

static void receive_without_another_look(void *arg)
{
	uint32_t bell = get(&m.bell);

	(void)arg;
	if (get(&m.item))
		return;
	set(&m.waiting, 1);
	explore_wait(&m.bell, bell);
	explore_check(get(&m.item));
}

static void send_without_a_wake_up(void *arg)
{
	(void)arg;
	set(&m.item, 1);
	set(&m.bell, 1);
}

static void a_right_sleeper_is_always_woken(void **state)
{
	struct explore_case c = CASE(send, receive);

	(void)state;
	assert_false(explored(&c).failed);
}

static void a_lost_wake_up_is_found(void **state)
{
	struct explore_case c = CASE(send, receive_without_another_look);
	struct explore_case d = CASE(send_without_a_wake_up, receive);

	(void)state;
	assert_string_equal(explored(&c).message,
			    "all that live sleep for ever");
	/* The word differs, but nobody woke the sleeper. */
	assert_string_equal(explored(&d).message,
			    "all that live sleep for ever");
}

static void wait_once(void *arg)
{
	(void)arg;
	m.count = (uint32_t)-explore_wait(&m.bell, 0);
	set(&m.turn, 1);
}

static void check_timed_out(const struct explore_case *c)
{
	(void)c;
	explore_check(m.count == ETIMEDOUT);
}

static void a_sleep_ends_by_time_after_a_death(void **state)
{
	struct explore_case c = CASE(three_steps, wait_once, .kills = 1,
				     .end = check_timed_out);

	(void)state;
	/* Without the death there is no end. */
	assert_string_equal(explored(&c).message,
			    "all that live sleep for ever");
	c.timeouts = 1;
	assert_false(explored(&c).failed);
}

static void spin(void *arg)
{
	(void)arg;
	for (;;)
		set(&m.count, m.count + 1);
}

static void a_task_without_end_is_found(void **state)
{
	struct explore_case c = CASE(three_steps, spin);

	(void)state;
	assert_string_equal(explored(&c).message, "no end after 4096 steps");
}

/* ---- dying ---- */

static void lock_in_one_step(void *arg)
{
	(void)arg;
	if (!swap(&m.lock, 0, 1))
		return;
	enter_and_leave();
	set(&m.lock, 0);
}

static void lock_then_sign(void *arg)
{
	(void)arg;
	if (!swap(&m.lock, 0, 99))
		return;
	set(&m.lock, 1);
	set(&m.lock, 0);
}

/* Takes back what the other one held: the lock says whose it is. */
static void sweep(void *arg)
{
	(void)arg;
	if (!explore_await_death(0))
		return;
	explore_check(explore_is_dead(0));
	if (swap(&m.lock, 1, 0))
		set(&m.inside, 0);
}

static void check_free(const struct explore_case *c)
{
	(void)c;
	explore_check(!m.lock);
}

static void what_the_dead_signed_is_given_back(void **state)
{
	struct explore_case c = CASE(lock_in_one_step, sweep, .kills = 1,
				     .end = check_free);

	(void)state;
	assert_false(explored(&c).failed);
}

static void what_they_held_without_signing_is_found(void **state)
{
	struct explore_case c = CASE(lock_then_sign, sweep, .kills = 1,
				     .end = check_free);
	struct explore_result r = explored(&c);

	(void)state;
	assert_true(r.failed);
	assert_non_null(strstr(r.message, "!m.lock"));
	assert_string_equal(r.schedule, "a!ab3");
	c.kills = 0;
	assert_false(explored(&c).failed);
}

/* ---- strings ---- */

static void a_schedule_is_read_back_as_written(void **state)
{
	const uint8_t some[] = { 0, 0, 1, 16, 10, 2, 2, 2 };
	uint8_t back[8];
	char text[64];

	(void)state;
	schedule_format(some, 8, text, sizeof(text));
	assert_string_equal(text, "a2b!a?cc3");
	assert_int_equal(schedule_parse(text, back, 8), 8);
	assert_memory_equal(some, back, 8);
}

static void what_is_no_schedule_is_refused(void **state)
{
	struct explore_case c = CASE(three_steps, three_steps);
	const char *const bad[] = { "z", "a0", "!",   "a99999", "3",
				    "c", "?a", "a4b", "!b",	"a!a2" };
	struct explore_result r;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(explore_replay(&c, bad[i], &r), -EINVAL);
	assert_int_equal(explore_replay(&c, "a2b", &r), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_state_is_gone_into_once),
		cmocka_unit_test(without_preemptions_there_are_two_schedules),
		cmocka_unit_test(each_place_of_death_is_tried_once),
		cmocka_unit_test(a_right_lock_passes),
		cmocka_unit_test(a_wrong_lock_is_found_and_its_schedule_replays),
		cmocka_unit_test(a_failure_is_told_with_the_fewest_preemptions),
		cmocka_unit_test(chance_finds_a_wrong_lock_too),
		cmocka_unit_test(a_right_sleeper_is_always_woken),
		cmocka_unit_test(a_lost_wake_up_is_found),
		cmocka_unit_test(a_sleep_ends_by_time_after_a_death),
		cmocka_unit_test(a_task_without_end_is_found),
		cmocka_unit_test(what_the_dead_signed_is_given_back),
		cmocka_unit_test(what_they_held_without_signing_is_found),
		cmocka_unit_test(a_schedule_is_read_back_as_written),
		cmocka_unit_test(what_is_no_schedule_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
