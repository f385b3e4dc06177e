/* crc_table.c - loaded by payload.py: a reflected CRC by the table that Python made.
 *
 * Python alone takes seconds for what a large upload has.  The table of one byte and the
 * register come from there, so that this knows no polynomial. */
#include <stddef.h>
#include <stdint.h>

__attribute__((visibility("default"))) uint64_t
crc_table(const uint64_t table[256], uint64_t value, const unsigned char *data,
	  size_t len);

uint64_t crc_table(const uint64_t table[256], uint64_t value,
		   const unsigned char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		value = table[(value ^ data[i]) & 255] ^ (value >> 8);
	return value;
}
