/* test_crc64nvme.c - published values, and both ways against a slow twin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "hash/digest/crc64nvme.h"
#include "hash/digest/crc64nvme_internal.h"

enum { PAGE = 4096 };

/* The definition, not reflected, bit by bit. */
static uint64_t slow(const uint8_t *data, size_t len)
{
	uint64_t remainder = UINT64_MAX, reflected = 0;

	for (size_t i = 0; i < 8 * len; i++) {
		uint64_t bit = data[i / 8] >> i % 8 & 1;
		uint64_t out = remainder >> 63 ^ bit;

		remainder = remainder << 1 ^
			    (out ? UINT64_C(0xad93d23594c93659) : 0);
	}
	for (int i = 0; i < 64; i++)
		reflected |= (remainder >> i & 1) << (63 - i);
	return ~reflected;
}

static uint64_t by_tables(const uint8_t *data, size_t len)
{
	crc64nvme_prepare();
	return ~crc64nvme_slices(UINT64_MAX, data, len);
}

static void published_values_come_out(void **state)
{
	uint8_t zeroes[PAGE] = { 0 }, ones[PAGE], up[PAGE], down[PAGE];

	(void)state;
	for (int i = 0; i < PAGE; i++) {
		ones[i] = 0xff;
		up[i] = (uint8_t)i;
		down[i] = (uint8_t)(255 - i);
	}
	assert_true(crc64nvme(0, "", 0) == 0);
	assert_true(crc64nvme(0, "123456789", 9) == 0xae8b14860a799888);
	assert_true(crc64nvme(0, zeroes, PAGE) == 0x6482d367eb22b64e);
	assert_true(crc64nvme(0, ones, PAGE) == 0xc0ddba7302eca3ac);
	assert_true(crc64nvme(0, up, PAGE) == 0x3e729f5f6750449c);
	assert_true(crc64nvme(0, down, PAGE) == 0x9a2df64b8e9e517e);
}

/* Data ends where an unmapped page begins, so reading past it is a crash. */
static void every_short_length_before_a_guard_page_is_right(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t seed = 1;

	(void)state;
	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(mprotect(map + page, page, PROT_NONE), 0);
	for (size_t i = 0; i < page; i++) {
		seed = seed * 1664525 + 1013904223;
		map[i] = (uint8_t)(seed >> 24);
	}
	for (size_t len = 0; len < 700; len++) {
		const uint8_t *data = map + page - len;
		uint64_t expected = slow(data, len);

		assert_true(crc64nvme(0, data, len) == expected);
		assert_true(by_tables(data, len) == expected);
	}
	assert_int_equal(munmap(map, 2 * page), 0);
}

static void a_stream_may_be_cut_anywhere(void **state)
{
	uint8_t data[300];
	uint64_t whole;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	whole = slow(data, sizeof(data));
	for (size_t cut = 0; cut <= sizeof(data); cut++) {
		uint64_t crc = crc64nvme(0, data, cut);

		crc = crc64nvme(crc, data + cut, sizeof(data) - cut);
		assert_true(crc == whole);
	}
}

static void a_changed_bit_anywhere_changes_the_value(void **state)
{
	uint8_t data[200] = { 0 };
	uint64_t whole = crc64nvme(0, data, sizeof(data));

	(void)state;
	for (size_t i = 0; i < 8 * sizeof(data); i++) {
		data[i / 8] ^= (uint8_t)(1 << i % 8);
		assert_true(crc64nvme(0, data, sizeof(data)) != whole);
		data[i / 8] ^= (uint8_t)(1 << i % 8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_values_come_out),
		cmocka_unit_test(
			every_short_length_before_a_guard_page_is_right),
		cmocka_unit_test(a_stream_may_be_cut_anywhere),
		cmocka_unit_test(a_changed_bit_anywhere_changes_the_value),
	};

	return cmocka_run_group_tests_name("crc64nvme", tests, NULL, NULL);
}
