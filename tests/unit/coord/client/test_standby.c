/* A client that has the addresses of several coordinators, of which one leads. */
#include <errno.h>
#include <roar/coord.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* after the four it needs */
#include <cmocka.h>

#include "fake.h"

struct fixture {
	struct fake first, second;
	char both[160];
	struct roar_coord *c;
};

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	fake_start(&x->first);
	fake_start(&x->second);
	(void)snprintf(x->both, sizeof(x->both), "%s,%s", x->first.address,
		       x->second.address);
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	roar_coord_free(x->c);
	fake_stop(&x->first);
	fake_stop(&x->second);
	free(x);
	return 0;
}

static void join(struct fixture *x, uint32_t flags)
{
	struct roar_coord_options o = { .address = x->both,
					.worker_id = "w-1",
					.connect_timeout_ms = 60000,
					.flags = flags };

	if (roar_coord_join(&o, &x->c) < 0)
		fail_msg("join: %s", roar_coord_error());
}

static void the_one_that_leads_is_found(void **state)
{
	struct fixture *x = *state;

	fake_set(&x->first, standby, x->second.address);
	fake_set(&x->second, token, 42);
	join(x, 0);
	assert_int_equal(fake_get(&x->second, n_registered), 1);
	assert_int_equal(fake_get(&x->first, n_turned_away), 1);
	assert_int_equal(roar_coord_fencing_token(x->c), 42);
}

static void who_alone_has_no_token(void **state)
{
	struct fixture *x = *state;

	join(x, 0);
	assert_int_equal(roar_coord_fencing_token(x->c), 0);
}

/* Coordinators may call each other by other names than we do. */
static void a_leader_of_another_name_is_found(void **state)
{
	struct fixture *x = *state;

	fake_set(&x->first, standby, "some-host:1");
	join(x, 0);
	assert_int_equal(fake_get(&x->second, n_registered), 1);
	assert_int_equal(fake_get(&x->first, n_turned_away), 1);
}

/* On the same connection: a thousand workers do not connect all the time. */
static void a_standby_is_asked_again_until_it_leads(void **state)
{
	struct fixture *x = *state;

	fake_set(&x->first, interval_ms, 60000); /* no heartbeat tells of it */
	join(x, 0);
	fake_set(&x->second, standby, x->first.address);
	fake_set(&x->second, token, 7);
	fake_halt(&x->first);
	fake_await(&x->second, n_turned_away, 5);
	assert_in_range(fake_get(&x->second, n_connections), 1, 3);
	fake_set(&x->second, standby, NULL);
	fake_await(&x->second, n_registered, 1);
	assert_int_equal(fake_get(&x->second, session), 77);
	fake_await(&x->second, n_beats, 2);
	assert_int_equal(roar_coord_fencing_token(x->c), 7);
}

static void who_led_and_stands_by_now_is_left(void **state)
{
	struct fixture *x = *state;

	fake_set(&x->second, standby, "");
	join(x, 0);
	fake_await(&x->first, n_beats, 1);
	fake_set(&x->second, standby, NULL);
	fake_set(&x->first, standby, x->second.address);
	fake_await(&x->second, n_beats, 2);
}

/* Nothing was done by a standby, so even a sum may be asked for again. */
static void a_refused_sum_is_made_where_it_can_be(void **state)
{
	struct fixture *x = *state;
	int64_t sum = 0;

	fake_set(&x->first, standby, x->second.address);
	join(x, ROAR_COORD_OBSERVER);
	assert_int_equal(roar_coord_add(x->c, "k", 1, &sum), 0);
	assert_int_equal(sum, 42);
	assert_int_equal(fake_get(&x->second, n_sums), 1);
	assert_int_equal(fake_get(&x->first, n_sums), 0);
}

static void while_none_leads_the_reason_is_told(void **state)
{
	struct fixture *x = *state;
	struct roar_coord_options o = { .address = x->both,
					.worker_id = "w-1",
					.connect_timeout_ms = 1500 };

	fake_set(&x->first, standby, "");
	fake_set(&x->second, standby, "");
	assert_int_equal(roar_coord_join(&o, &x->c), -ENOTCONN);
	assert_non_null(strstr(roar_coord_error(), "this is a standby"));
}

/* Its machine is gone, and no word came of it. */
static void who_falls_silent_is_left(void **state)
{
	struct fixture *x = *state;

	join(x, 0);
	fake_set(&x->second, standby, x->first.address);
	assert_int_equal(roar_coord_set(x->c, "k", "v", 1, 0), 0);
	fake_set(&x->first, mute, true);
	fake_set(&x->second, standby, NULL);
	assert_int_equal(roar_coord_set(x->c, "k", "v", 1, 0), 0);
	assert_int_equal(fake_get(&x->first, n_sets), 1);
	assert_int_equal(fake_get(&x->second, n_sets), 1);
}

/* As one whose log is slow: it says that it is there. */
static void who_only_takes_long_is_waited_for(void **state)
{
	struct fixture *x = *state;
	void *value;
	size_t len;

	fake_set(&x->first, interval_ms, 60000);
	join(x, 0);
	assert_int_equal(roar_coord_get(x->c, "k", 3500, &value, &len, NULL),
			 -ETIMEDOUT);
	assert_true(fake_get(&x->first, n_pings) > 0);
	assert_int_equal(fake_get(&x->first, n_registered), 1);
	assert_int_equal(fake_get(&x->second, n_registered), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_one_that_leads_is_found),
		TEST(who_alone_has_no_token),
		TEST(a_leader_of_another_name_is_found),
		TEST(a_standby_is_asked_again_until_it_leads),
		TEST(who_led_and_stands_by_now_is_left),
		TEST(a_refused_sum_is_made_where_it_can_be),
		TEST(while_none_leads_the_reason_is_told),
		TEST(who_falls_silent_is_left),
		TEST(who_only_takes_long_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
