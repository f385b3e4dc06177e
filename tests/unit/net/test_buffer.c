/* test_buffer.c - bytes that wait, and the shelf they lend memory from. */
#include "net/buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "test.h"

static void bytes_come_out_as_they_went_in(void **state)
{
	struct shelf shelf = { 0 };
	struct buffer b = { 0 };
	uint8_t in = 0;
	uint8_t out = 0;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		uint8_t piece[97];
		size_t n = (size_t)round % sizeof(piece);

		for (size_t i = 0; i < n; i++)
			piece[i] = in++;
		assert_int_equal(buffer_add(&shelf, &b, piece, n), 0);
		for (n = n * 2 / 3; n > 0 && buffer_len(&b); n--) {
			assert_int_equal(*buffer_bytes(&b), out++);
			buffer_take(&shelf, &b, 1);
		}
	}
	assert_int_equal(buffer_len(&b) % 256, (uint8_t)(in - out));
	buffer_release(&shelf, &b);
	shelf_release(&shelf);
}

static void an_empty_buffer_holds_no_memory(void **state)
{
	struct shelf shelf = { 0 };
	struct buffer b = { 0 };

	(void)state;
	assert_int_equal(buffer_add(&shelf, &b, "abc", 3), 0);
	assert_non_null(b.data);
	buffer_take(&shelf, &b, 3);
	assert_null(b.data);
	assert_int_equal(shelf.kept, SHELF_SMALLEST);
	shelf_release(&shelf);
}

static void memory_is_lent_again(void **state)
{
	struct shelf shelf = { 0 };
	struct buffer a = { 0 };
	struct buffer b = { 0 };

	(void)state;
	assert_non_null(buffer_room(&shelf, &a, 1000));
	buffer_grew(&a, 1000);

	uint8_t *first = a.data;

	buffer_release(&shelf, &a);
	assert_ptr_equal(buffer_room(&shelf, &b, 600), first);
	buffer_release(&shelf, &b);
	shelf_release(&shelf);
}

static void the_shelf_keeps_a_bounded_amount(void **state)
{
	struct shelf shelf = { 0 };
	static struct buffer many[SHELF_KEEPS / SHELF_LARGEST + 10];
	enum { N = sizeof(many) / sizeof(many[0]) };

	(void)state;
	for (int i = 0; i < N; i++)
		assert_non_null(buffer_room(&shelf, &many[i], SHELF_LARGEST));
	for (int i = 0; i < N; i++)
		buffer_release(&shelf, &many[i]);
	assert_int_equal(shelf.kept, SHELF_KEEPS);
	shelf_release(&shelf);
	assert_int_equal(shelf.kept, 0);
}

static void without_memory_nothing_changes(void **state)
{
	struct shelf shelf = { 0 };
	struct buffer b = { 0 };
	char large[1000] = { 0 };

	(void)state;
	assert_int_equal(buffer_add(&shelf, &b, "abc", 3), 0);
	alloc_fail_after(0);
	int r = buffer_add(&shelf, &b, large, sizeof(large));
	alloc_fail_never();

	assert_int_equal(r, -ENOMEM);
	assert_int_equal(buffer_len(&b), 3);
	assert_memory_equal(buffer_bytes(&b), "abc", 3);
	buffer_release(&shelf, &b);
	shelf_release(&shelf);
}

static void more_than_two_gigabytes_are_refused(void **state)
{
	struct shelf shelf = { 0 };
	struct buffer b = { 0 };

	(void)state;
	assert_null(buffer_room(&shelf, &b, (size_t)1 << 40));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_come_out_as_they_went_in),
		cmocka_unit_test(an_empty_buffer_holds_no_memory),
		cmocka_unit_test(memory_is_lent_again),
		cmocka_unit_test(the_shelf_keeps_a_bounded_amount),
		cmocka_unit_test(without_memory_nothing_changes),
		cmocka_unit_test(more_than_two_gigabytes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
