/* Checksums: published values, and the fast ways against a slow twin. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "s3/s3_checksum.h"
#include "s3/s3_crc32.h"

static void take(enum s3_checksum_kind kind, const char *text, size_t step,
		 char ret[S3_CHECKSUM_SIZE])
{
	struct s3_checksum c;
	size_t len = strlen(text);

	assert_int_equal(s3_checksum_init(&c, kind), 0);
	for (size_t at = 0; at < len; at += step)
		s3_checksum_update(&c, text + at,
				   len - at < step ? len - at : step);
	assert_int_equal(s3_checksum_final(&c, ret), 0);
	s3_checksum_release(&c);
}

static void published_values_come_out(void **state)
{
	static const struct {
		const char *of_digits, *of_nothing;
	} values[S3_CHECKSUM_END] = {
		[S3_CHECKSUM_CRC32] = { "y/Q5Jg==", "AAAAAA==" },
		[S3_CHECKSUM_CRC32C] = { "4waSgw==", "AAAAAA==" },
		[S3_CHECKSUM_CRC64NVME] = { "rosUhgp5mIg=", "AAAAAAAAAAA=" },
		[S3_CHECKSUM_SHA1] = { "98O8HYCOBHMq32eZZczDTKeuNEE=",
				       "2jmj7l5rSw0yVb/vlWAYkK/YBwk=" },
		[S3_CHECKSUM_SHA256] = { "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=",
					 "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=" },
		[S3_CHECKSUM_MD5] = { "JfnnlDI7RTiF9RgfG2JNCw==",
				      "1B2M2Y8AsgTpgAmY7PhCfg==" },
	};
	char text[S3_CHECKSUM_SIZE];

	(void)state;
	for (int i = 0; i < S3_CHECKSUM_END; i++) {
		for (size_t step = 1; step < 10; step += 4) {
			take(i, "123456789", step, text);
			assert_string_equal(text, values[i].of_digits);
		}
		take(i, "", 1, text);
		assert_string_equal(text, values[i].of_nothing);
	}
}

/* The definition, bit by bit. */
static uint32_t slow(uint32_t polynomial, const uint8_t *data, size_t len)
{
	uint32_t state = UINT32_MAX;

	for (size_t i = 0; i < 8 * len; i++) {
		uint32_t bit = (state ^ data[i / 8] >> i % 8) & 1;

		state = state >> 1 ^ (bit ? polynomial : 0);
	}
	return ~state;
}

static void every_length_and_split_is_right(void **state)
{
	uint8_t data[600];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 37 ^ i >> 3);
	for (size_t len = 0; len <= sizeof(data); len++) {
		size_t cut = len * 7 % (len + 1);
		uint32_t head = s3_crc32(0, data, cut);
		uint32_t head_c = s3_crc32c(0, data, cut);

		assert_int_equal(s3_crc32(head, data + cut, len - cut),
				 slow(0xedb88320, data, len));
		assert_int_equal(s3_crc32c(head_c, data + cut, len - cut),
				 slow(0x82f63b78, data, len));
	}
}

static void fields_name_kinds(void **state)
{
	(void)state;
	for (int i = 0; i < S3_CHECKSUM_END; i++)
		assert_int_equal(s3_checksum_of_field(s3_checksum_field(i)), i);
	assert_int_equal(s3_checksum_of_field("X-Amz-Checksum-CRC32C"),
			 S3_CHECKSUM_CRC32C);
	assert_int_equal(s3_checksum_of_field("x-amz-checksum-type"), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_values_come_out),
		cmocka_unit_test(every_length_and_split_is_right),
		cmocka_unit_test(fields_name_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
