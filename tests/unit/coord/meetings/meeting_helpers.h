/* meeting_helpers.h - what the tests of meetings share. */
#ifndef TESTS_COORD_MEETING_HELPERS_H
#define TESTS_COORD_MEETING_HELPERS_H

#include "host.h"

#define TEST(f) cmocka_unit_test_setup_teardown(f, host_setup, host_teardown)

static inline const Coordinator__BarrierResponse *released(struct host *h,
							   uint64_t call)
{
	const Coordinator__BarrierResponse *m = MESSAGE(
		expect(h, call, COORD_OK), Coordinator__BarrierResponse);

	assert_true(m->released);
	return m;
}

static inline void join_abc(struct host *h)
{
	join(h, 1, "a");
	join(h, 2, "b");
	join(h, 3, "c");
}

#endif
