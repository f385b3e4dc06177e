/* test_health.c - grpc.health.v1. */
#include "test.h"

#include "rpc/health.h"

static void the_services_are_known_and_the_server_as_a_whole(void **state)
{
	(void)state;
	assert_true(health_knows(""));
	assert_true(health_knows("coordinator.Coordinator"));
	assert_true(health_knows("roar.Control"));
	assert_false(health_knows("coordinator.Coordinato"));
}

static void check(bool known, bool serving, int expected)
{
	CLEANUP(str_release) struct str out = STR_INIT;
	Grpc__Health__V1__HealthCheckResponse *m;

	health_answer(known, serving, &out);
	m = grpc__health__v1__health_check_response__unpack(
		NULL, out.len, (const uint8_t *)str_cstr(&out));
	assert_non_null(m);
	assert_int_equal(m->status, expected);
	grpc__health__v1__health_check_response__free_unpacked(m, NULL);
}

static void the_state_is_told(void **state)
{
	(void)state;
	check(true, true, 1);
	check(true, false, 2);
	check(false, true, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_services_are_known_and_the_server_as_a_whole),
		cmocka_unit_test(the_state_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
