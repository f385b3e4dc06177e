/* test_method.c - the table of methods. */
#include "test.h"

#include "alloc_fail.h"

#include <errno.h>
#include <string.h>

#include "rpc/method.h"

static const struct method own[] = {
	{ .rpc = { .path = "/own.Service/Call" }, .is_free = true },
	{ .rpc = { .path = NULL } },
};

static const struct method *by_path(const struct methods *m, const char *path)
{
	const struct rpc_method *found = methods_by_path(m, path, strlen(path));

	return found ? found->data : NULL;
}

static void methods_are_found_by_path_and_number(void **state)
{
	CLEANUP(methods_release) struct methods m;
	const struct method *beat;

	(void)state;
	assert_int_equal(methods_init(&m, own), 0);
	assert_int_equal(m.n, coord_n_methods + 1);
	beat = by_path(&m, "/coordinator.Coordinator/Heartbeat");
	assert_non_null(beat);
	assert_ptr_equal(methods_by_number(&m, beat->rpc.number), &beat->rpc);
	assert_false(beat->is_free);
	assert_true(by_path(&m, "/own.Service/Call")->is_free);
	assert_null(by_path(&m, "/coordinator.Coordinator/Heartbea"));
	assert_null(by_path(&m, ""));
}

static void the_programs_own_have_numbers_apart(void **state)
{
	CLEANUP(methods_release) struct methods m;

	(void)state;
	assert_int_equal(methods_init(&m, own), 0);
	assert_string_equal(methods_by_number(&m, METHOD_OWN + 1)->path,
			    "/own.Service/Call");
	assert_null(methods_by_number(&m, METHOD_OWN + 2));
	methods_release(&m);
	assert_int_equal(methods_init(&m, builtin_methods), 0);
	assert_string_equal(methods_by_number(&m, METHOD_HEALTH)->path,
			    "/grpc.health.v1.Health/Check");
}

static void numbers_are_those_of_the_state_machine(void **state)
{
	CLEANUP(methods_release) struct methods m;

	(void)state;
	assert_int_equal(methods_init(&m, own), 0);
	for (uint16_t i = 1; i <= coord_n_methods; i++)
		assert_int_equal(methods_by_number(&m, i)->number, i);
	assert_null(methods_by_number(&m, 0));
	assert_null(methods_by_number(&m, (uint16_t)m.n));
	assert_null(methods_by_number(&m, UINT16_MAX));
	assert_null(methods_by_number(&m, METHOD_OWN));
}

static void streams_are_marked(void **state)
{
	CLEANUP(methods_release) struct methods m;
	const struct method *beats;
	const struct method *watch;

	(void)state;
	assert_int_equal(methods_init(&m, own), 0);
	beats = by_path(&m, "/coordinator.Coordinator/StreamHeartbeats");
	watch = by_path(&m, "/roar.Control/Watch");
	assert_true(beats->rpc.streams_in && beats->rpc.streams_out);
	assert_true(!watch->rpc.streams_in && watch->rpc.streams_out);
}

static void statuses_have_their_names(void **state)
{
	(void)state;
	assert_string_equal(method_status_name(0), "OK");
	assert_string_equal(method_status_name(16), "UNAUTHENTICATED");
	assert_string_equal(method_status_name(17), "UNKNOWN");
	for (unsigned i = 0; i < METHOD_STATUSES; i++)
		assert_non_null(method_status_name(i));
}

static void without_memory_there_is_no_table(void **state)
{
	struct methods m = { 0 };
	int r = -ENOMEM;

	(void)state;
	for (int i = 0; r == -ENOMEM; i++) {
		alloc_fail_after(i);
		r = methods_init(&m, own);
		alloc_fail_never();
		assert_true(r == 0 || !m.items);
	}
	assert_int_equal(r, 0);
	methods_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(methods_are_found_by_path_and_number),
		cmocka_unit_test(numbers_are_those_of_the_state_machine),
		cmocka_unit_test(the_programs_own_have_numbers_apart),
		cmocka_unit_test(streams_are_marked),
		cmocka_unit_test(statuses_have_their_names),
		cmocka_unit_test(without_memory_there_is_no_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
