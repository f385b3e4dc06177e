/* test_grpc_mem.c - the allocator that nghttp2 is given. */
#include "net/grpc/grpc_mem.h"

#include <stdint.h>
#include <string.h>

#include "alloc_fail.h"
#include "test.h"

static struct grpc_mem m;

static int setup(void **state)
{
	(void)state;
	grpc_mem_init(&m);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	grpc_mem_release(&m);
	assert_int_equal(m.kept, 0);
	return 0;
}

static void *take(size_t size)
{
	return m.mem.malloc(size, m.mem.mem_user_data);
}

static void give_back(void *block)
{
	m.mem.free(block, m.mem.mem_user_data);
}

static void blocks_of_all_sizes_hold_what_they_should(void **state)
{
	enum { N = 300 };
	uint8_t *blocks[N];

	(void)state;
	for (size_t i = 0; i < N; i++) {
		blocks[i] = take(i * 7);
		assert_non_null(blocks[i]);
		assert_int_equal((uintptr_t)blocks[i] % 16, 0);
		memset(blocks[i], (int)i, i * 7);
	}
	for (size_t i = 0; i < N; i++) {
		for (size_t k = 0; k < i * 7; k++)
			assert_int_equal(blocks[i][k], (uint8_t)i);
		give_back(blocks[i]);
	}
	give_back(NULL);
}

static void a_freed_block_is_given_again(void **state)
{
	void *first = take(100);

	(void)state;
	give_back(first);
	assert_int_equal(m.kept, 128);
	assert_ptr_equal(take(97), first);
	assert_int_equal(m.kept, 0);
	give_back(first);
}

static void zeroed_ones_are_zero_also_when_used_before(void **state)
{
	uint8_t *block = take(60);

	(void)state;
	memset(block, 7, 60);
	give_back(block);
	assert_ptr_equal(m.mem.calloc(5, 12, m.mem.mem_user_data), block);
	for (int i = 0; i < 60; i++)
		assert_int_equal(block[i], 0);
	give_back(block);
	assert_null(m.mem.calloc(SIZE_MAX / 2, 3, m.mem.mem_user_data));
	assert_null(take(SIZE_MAX));
}

static void resizing_keeps_what_was_there(void **state)
{
	uint8_t *block = m.mem.realloc(NULL, 10, m.mem.mem_user_data);

	(void)state;
	memcpy(block, "0123456789", 10);
	block = m.mem.realloc(block, 5000, m.mem.mem_user_data);
	assert_memory_equal(block, "0123456789", 10);
	assert_ptr_equal(m.mem.realloc(block, 20, m.mem.mem_user_data), block);
	alloc_fail_after(0);
	void *none = m.mem.realloc(block, 100000, m.mem.mem_user_data);
	alloc_fail_never();
	assert_null(none);
	assert_memory_equal(block, "0123456789", 10);
	give_back(block);
}

static void a_bounded_amount_is_kept(void **state)
{
	enum { N = GRPC_MEM_KEEPS / 1024 + 50 };
	static void *blocks[N];

	(void)state;
	for (int i = 0; i < N; i++)
		blocks[i] = take(1000);
	for (int i = 0; i < N; i++)
		give_back(blocks[i]);
	assert_int_equal(m.kept, GRPC_MEM_KEEPS);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(blocks_of_all_sizes_hold_what_they_should),
		T(a_freed_block_is_given_again),
		T(zeroed_ones_are_zero_also_when_used_before),
		T(resizing_keeps_what_was_there),
		T(a_bounded_amount_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
