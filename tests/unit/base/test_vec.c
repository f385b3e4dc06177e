/* test_vec.c - growth of plain arrays. */
#include "base/vec.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "alloc_fail.h"
#include "test.h"

struct pair {
	int a;
	int b;
};

struct pairs {
	struct pair *items;
	size_t count;
	size_t cap;
};

static void pushed_elements_are_zero_and_stay(void **state)
{
	struct pairs v = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++) {
		struct pair *p = VEC_PUSH(v.items, v.count, v.cap);

		assert_non_null(p);
		assert_int_equal(p->a, 0);
		assert_int_equal(p->b, 0);
		*p = (struct pair){ i, -i };
	}
	assert_int_equal(v.count, 1000);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(v.items[i].a, i);
		assert_int_equal(v.items[i].b, -i);
	}
	free(v.items);
}

static void reserve_keeps_what_is_enough(void **state)
{
	int *items = NULL;
	int *before;
	size_t cap = 0;

	(void)state;
	assert_int_equal(vec_reserve(&items, &cap, 100, sizeof(*items)), 0);
	assert_true(cap >= 100);
	before = items;
	assert_int_equal(vec_reserve(&items, &cap, 100, sizeof(*items)), 0);
	assert_int_equal(vec_reserve(&items, &cap, 0, sizeof(*items)), 0);
	assert_ptr_equal(items, before);
	free(items);
}

static void push_without_memory_is_null_and_keeps_the_array(void **state)
{
	struct pairs v = { 0 };
	struct pair *p = NULL;

	(void)state;
	alloc_fail_after(1);
	do {
		p = VEC_PUSH(v.items, v.count, v.cap);
		if (p)
			p->a = (int)v.count;
	} while (p);
	alloc_fail_never();
	assert_int_equal(v.count, v.cap);
	for (size_t i = 0; i < v.count; i++)
		assert_int_equal(v.items[i].a, i + 1);
	assert_non_null(VEC_PUSH(v.items, v.count, v.cap));
	free(v.items);
}

static void an_absurd_need_fails_and_does_not_wrap(void **state)
{
	int *items = NULL;
	size_t cap = 0;

	(void)state;
	assert_int_equal(vec_reserve(&items, &cap, SIZE_MAX / 4, 8), -ENOMEM);
	assert_int_equal(vec_reserve(&items, &cap, SIZE_MAX, 1), -ENOMEM);
	assert_null(items);
	assert_int_equal(cap, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushed_elements_are_zero_and_stay),
		cmocka_unit_test(reserve_keeps_what_is_enough),
		cmocka_unit_test(
			push_without_memory_is_null_and_keeps_the_array),
		cmocka_unit_test(an_absurd_need_fails_and_does_not_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
