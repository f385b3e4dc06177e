/* test_beats.c - heartbeats of a host that travel together. */
#include "test.h"

#include <stdint.h>
#include <string.h>

#include "agent/beats.h"

enum { INTERVAL = 4000, WAIT = INTERVAL / BEATS_SHARE };

static struct beats b;

/* What left, as "LANE:MESSAGE " each. */
static char left[200];

static void note(void *ctx, uint32_t lane, const struct frame *f,
		 const void *data)
{
	size_t n = strlen(left);

	(void)ctx;
	(void)snprintf(left + n, sizeof(left) - n, "%u:%.*s ", lane,
		       (int)f->len, (const char *)data);
}

static void leave(void)
{
	left[0] = '\0';
	beats_leave(&b, note, NULL);
}

static int setup(void **state)
{
	(void)state;
	b = (struct beats){ 0 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	beats_release(&b);
	return 0;
}

static void workers(uint32_t n)
{
	for (uint32_t i = 1; i <= n; i++)
		beats_set_interval(&b, i, INTERVAL);
}

static bool add(int64_t now, uint32_t lane, const char *text)
{
	const struct frame f = { .len = (uint32_t)strlen(text) };

	return beats_add(&b, now, lane, &f, text);
}

static void a_heartbeat_waits_an_eighth_of_its_interval(void **state)
{
	(void)state;
	workers(8);
	assert_true(beats_due_ms(&b) == INT64_MAX);
	assert_true(add(100, 5, "a"));
	assert_true(beats_due_ms(&b) == 100 + WAIT);
	assert_true(add(150, 2, "b"));
	assert_true(beats_due_ms(&b) == 100 + WAIT);
	leave();
	assert_string_equal(left, "5:a 2:b ");
	assert_true(beats_due_ms(&b) == INT64_MAX);
}

static void no_wait_is_longer_than_a_second(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= 8; i++)
		beats_set_interval(&b, i, INT64_MAX);
	assert_true(add(0, 2, "a"));
	assert_true(beats_due_ms(&b) == BEATS_MAX_MS);
}

static void with_the_pacemakers_the_others_have_a_moment(void **state)
{
	(void)state;
	workers(4);
	assert_true(add(0, 2, "a"));
	assert_true(add(0, 3, "b"));
	assert_true(beats_due_ms(&b) == WAIT);
	assert_true(add(5, 1, "c"));
	assert_true(beats_due_ms(&b) == 5 + BEATS_TOGETHER_MS);
}

static void when_the_pacemaker_has_gone_the_next_one_is_it(void **state)
{
	(void)state;
	workers(4);
	beats_set_interval(&b, 1, 0);
	assert_true(add(5, 3, "a"));
	assert_true(beats_due_ms(&b) == 5 + WAIT);
	assert_true(add(6, 2, "b"));
	assert_true(beats_due_ms(&b) == 6 + BEATS_TOGETHER_MS);
	workers(4);
	assert_int_equal(b.pacemaker, 1);
}

static void when_all_are_here_they_leave_at_once(void **state)
{
	(void)state;
	workers(2);
	assert_true(add(0, 1, "a"));
	assert_false(add(1, 2, "b")); /* its caller sends it behind the other */
	leave();
	assert_string_equal(left, "1:a ");
	assert_int_equal(b.n_beats, 2);
	assert_int_equal(b.n_packets, 1);
}

static void who_is_alone_or_unknown_does_not_wait(void **state)
{
	(void)state;
	workers(1);
	assert_false(add(0, 1, "a"));
	assert_false(add(0, 9, "unknown"));
	assert_int_equal(b.n_packets, 2);
}

static void a_second_one_of_a_worker_does_not_wait(void **state)
{
	(void)state;
	workers(8);
	assert_true(add(0, 1, "a"));
	assert_false(add(1, 1, "again"));
}

static void who_has_little_time_does_not_wait(void **state)
{
	struct frame f = { .number = 4 * WAIT };

	(void)state;
	workers(8);
	assert_false(beats_add(&b, 0, 1, &f, NULL));
	f.number++;
	assert_true(beats_add(&b, 0, 1, &f, NULL));
}

static void who_has_gone_is_not_waited_for(void **state)
{
	(void)state;
	workers(3);
	beats_set_interval(&b, 3, 0);
	beats_set_interval(&b, 3, 0);
	assert_int_equal(b.n_workers, 2);
	assert_true(add(0, 1, "a"));
	assert_false(add(0, 2, "b"));
}

static void what_nobody_hears_is_forgotten(void **state)
{
	(void)state;
	workers(8);
	assert_true(add(0, 1, "a"));
	beats_clear(&b);
	leave();
	assert_string_equal(left, "");
	assert_true(add(0, 1, "b"));
}

/* One who beats apart from the others: each of its beats waits, so it comes later each time,
 * until it is among them. */
static void all_beat_together_after_a_few_intervals(void **state)
{
	enum { N = 8, BEATS = 24 * N };
	int64_t next[N + 1]; /* when each beats */
	uint64_t packets = 0, beats = 0;

	(void)state;
	workers(N);
	for (int i = 1; i <= N; i++)
		next[i] = 1000 + i * 437 % INTERVAL;
	while (b.n_beats < BEATS) {
		int64_t due = beats_due_ms(&b);
		int who = 1;

		for (int i = 2; i <= N; i++)
			who = next[i] < next[who] ? i : who;
		if (b.n_beats > BEATS - 4 * N && !beats) {
			packets = b.n_packets;
			beats = b.n_beats;
		}
		if (due > next[who] && add(next[who], (uint32_t)who, "x")) {
			next[who] += 1000 * INTERVAL; /* until it is answered */
			continue;
		}
		int64_t now = due > next[who] ? next[who] : due;

		for (int i = 1; i <= N; i++) {
			if (b.has_one[i] || (i == who && due > next[who]))
				next[i] = now + INTERVAL;
		}
		leave();
	}
	assert_true((b.n_beats - beats) / (b.n_packets - packets) == N);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_heartbeat_waits_an_eighth_of_its_interval),
		T(no_wait_is_longer_than_a_second),
		T(with_the_pacemakers_the_others_have_a_moment),
		T(when_the_pacemaker_has_gone_the_next_one_is_it),
		T(when_all_are_here_they_leave_at_once),
		T(who_is_alone_or_unknown_does_not_wait),
		T(a_second_one_of_a_worker_does_not_wait),
		T(who_has_little_time_does_not_wait),
		T(who_has_gone_is_not_waited_for),
		T(what_nobody_hears_is_forgotten),
		T(all_beat_together_after_a_few_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
