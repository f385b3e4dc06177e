/* test_timer_heap.c - timers come out in the order they are due. */
#include "base/timer_heap.h"

#include <errno.h>
#include <stdlib.h>

#include "alloc_fail.h"
#include "test.h"

enum { N = 1000 };

static uint32_t scramble(uint32_t x)
{
	return x * 2654435761u >> 7;
}

static void they_come_out_in_order(void **state)
{
	struct timer_heap h = { 0 };
	struct timer timers[N] = { 0 };
	int64_t before = 0;

	(void)state;
	assert_true(timer_heap_due_ms(&h) == INT64_MAX);
	for (uint32_t i = 0; i < N; i++) {
		assert_int_equal(timer_heap_reserve(&h), 0);
		timer_heap_set(&h, &timers[i], scramble(i) % 500);
	}
	for (uint32_t i = 0; i < N; i += 3)
		timer_heap_set(&h, &timers[i], scramble(i + N) % 500);
	for (uint32_t i = 1; i < N; i += 3)
		timer_heap_remove(&h, &timers[i]);
	assert_int_equal(h.count, N - N / 3);
	while (h.count) {
		struct timer *t = timer_heap_first(&h);

		assert_true(t->due_ms >= before);
		assert_true(timer_heap_due_ms(&h) == t->due_ms);
		before = t->due_ms;
		timer_heap_remove(&h, t);
		assert_int_equal(t->place, 0);
	}
	assert_null(timer_heap_first(&h));
	timer_heap_release(&h);
}

static void removing_one_that_is_not_set_does_nothing(void **state)
{
	struct timer_heap h = { 0 };
	struct timer t = { 0 };

	(void)state;
	timer_heap_remove(&h, &t);
	assert_int_equal(h.count, 0);
}

static void without_memory_nothing_changes(void **state)
{
	struct timer_heap h = { 0 };

	(void)state;
	alloc_fail_after(0);
	int r = timer_heap_reserve(&h);
	alloc_fail_never();

	assert_int_equal(r, -ENOMEM);
	assert_int_equal(h.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_come_out_in_order),
		cmocka_unit_test(removing_one_that_is_not_set_does_nothing),
		cmocka_unit_test(without_memory_nothing_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
