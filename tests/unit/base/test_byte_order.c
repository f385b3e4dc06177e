/* test_byte_order.c - integers of a format: byte order, and any address. */
#include "test.h"

#include "base/byte_order.h"

static void little_endian_starts_with_the_low_byte(void **state)
{
	uint8_t bytes[9] = { 0 };

	(void)state;
	le64_put(bytes + 1, UINT64_C(0x0807060504030201));
	for (int i = 1; i < 9; i++)
		assert_int_equal(bytes[i], i);
	assert_int_equal(le64_get(bytes + 1), UINT64_C(0x0807060504030201));
	assert_int_equal(le32_get(bytes + 1), 0x04030201);
	assert_int_equal(le16_get(bytes + 1), 0x0201);

	le32_put(bytes, 0xfffefdfc);
	le16_put(bytes + 3, 0x1234);
	assert_memory_equal(bytes, "\xfc\xfd\xfe\x34\x12\x05", 6);
}

static void big_endian_starts_with_the_high_byte(void **state)
{
	uint8_t bytes[7] = { 0 };

	(void)state;
	be32_put(bytes + 1, 0x01020304);
	be16_put(bytes + 5, 0xff06);
	assert_memory_equal(bytes, "\x00\x01\x02\x03\x04\xff\x06", 7);
	assert_int_equal(be32_get(bytes + 1), 0x01020304);
	assert_int_equal(be16_get(bytes + 5), 0xff06);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(little_endian_starts_with_the_low_byte),
		cmocka_unit_test(big_endian_starts_with_the_high_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
