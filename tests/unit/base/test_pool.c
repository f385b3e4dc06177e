/* test_pool.c - data that dies together. */
#include "base/pool.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "alloc_fail.h"
#include "test.h"

static void objects_are_aligned_for_any_type(void **state)
{
	CLEANUP(pool_release) struct pool p = POOL_INIT;

	(void)state;
	for (size_t size = 0; size < 100; size++) {
		(void)pool_dup(&p, "x", 1);
		assert_int_equal((uintptr_t)pool_alloc(&p, size) %
					 _Alignof(max_align_t),
				 0);
	}
}

static void strings_pack_without_gaps(void **state)
{
	CLEANUP(pool_release) struct pool p = POOL_INIT;
	char *first = pool_strdup(&p, "abc");
	char *second = pool_strdup(&p, "de");

	(void)state;
	assert_string_equal(first, "abc");
	assert_string_equal(second, "de");
	assert_ptr_equal(second, first + 4);
}

static void a_copy_may_hold_any_bytes(void **state)
{
	CLEANUP(pool_release) struct pool p = POOL_INIT;

	(void)state;
	assert_memory_equal(pool_dup(&p, "a\0b", 3), "a\0b", 4);
	assert_memory_equal(pool_dup(&p, NULL, 0), "", 1);
}

static void zalloc_is_zero_even_in_used_memory(void **state)
{
	CLEANUP(pool_release) struct pool p = POOL_INIT;
	static const char zeros[3000];

	(void)state;
	for (int i = 0; i < 20; i++) {
		memset(pool_alloc(&p, 3000), 0xaa, 3000);
		assert_memory_equal(pool_zalloc(&p, 3000), zeros, 3000);
	}
}

static void printf_fits_exactly(void **state)
{
	CLEANUP(pool_release) struct pool p = POOL_INIT;
	char *text;

	(void)state;
	assert_string_equal(pool_printf(&p, "%s-%d", "n", 7), "n-7");
	text = pool_printf(&p, "%9000d", 7);
	assert_int_equal(strlen(text), 9000);
	assert_string_equal(pool_printf(&p, "%s", ""), "");
}

static bool all_bytes_are(const unsigned char *mem, unsigned char value,
			  size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (mem[i] != value)
			return false;
	return true;
}

/* Every block is filled with its number; none may be touched by another. */
static void allocations_do_not_overlap(void **state)
{
	CLEANUP(pool_release) struct pool p = POOL_INIT;
	unsigned char *mem[500];

	(void)state;
	for (size_t i = 0; i < 500; i++) {
		mem[i] = pool_alloc(&p, 1 + i * 37 % 9001);
		memset(mem[i], (int)i & 0xff, 1 + i * 37 % 9001);
	}
	for (size_t i = 0; i < 500; i++)
		assert_true(all_bytes_are(mem[i], i & 0xff, 1 + i * 37 % 9001));
}

static void one_object_may_exceed_the_block_size(void **state)
{
	CLEANUP(pool_release) struct pool p = POOL_INIT;
	char *big = pool_zalloc(&p, 3 << 20);

	(void)state;
	assert_non_null(big);
	big[(3 << 20) - 1] = 1;
	assert_string_equal(pool_strdup(&p, "small again"), "small again");
}

static void a_small_pool_stays_small(void **state)
{
	CLEANUP(pool_release) struct pool p = POOL_INIT;

	(void)state;
	(void)pool_strdup(&p, "one path");
	assert_in_range(p.total, 4096, 4200);
}

static void a_failed_allocation_leaves_the_pool_usable(void **state)
{
	CLEANUP(pool_release) struct pool p = POOL_INIT;
	char *kept = pool_strdup(&p, "kept");
	void *refused;

	(void)state;
	alloc_fail_after(0);
	refused = pool_alloc(&p, 5000);
	alloc_fail_never();
	assert_null(refused);
	assert_null(pool_alloc(&p, SIZE_MAX));
	assert_null(pool_alloc(&p, SIZE_MAX / 2 + 1));
	assert_string_equal(kept, "kept");
	assert_string_equal(pool_strdup(&p, "next"), "next");
}

static void a_released_pool_can_be_filled_again(void **state)
{
	struct pool p = POOL_INIT;

	(void)state;
	(void)pool_strdup(&p, "first life");
	pool_release(&p);
	assert_int_equal(p.total, 0);
	assert_string_equal(pool_strdup(&p, "second"), "second");
	pool_release(&p);
	pool_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_are_aligned_for_any_type),
		cmocka_unit_test(strings_pack_without_gaps),
		cmocka_unit_test(a_copy_may_hold_any_bytes),
		cmocka_unit_test(zalloc_is_zero_even_in_used_memory),
		cmocka_unit_test(printf_fits_exactly),
		cmocka_unit_test(allocations_do_not_overlap),
		cmocka_unit_test(one_object_may_exceed_the_block_size),
		cmocka_unit_test(a_small_pool_stays_small),
		cmocka_unit_test(a_failed_allocation_leaves_the_pool_usable),
		cmocka_unit_test(a_released_pool_can_be_filled_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
