/* tar_header.c - see tar_header.h */
#include "reader/tar_header.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum {
	NAME_AT = 0,
	NAME_LEN = 100,
	SIZE_AT = 124,
	SIZE_LEN = 12,
	SUM_AT = 148,
	SUM_LEN = 8,
	TYPE_AT = 156,
	MAGIC_AT = 257,
	PREFIX_AT = 345,
	PREFIX_LEN = 155,
};

static bool is_zero(const uint8_t *block)
{
	return block[0] == 0 && memcmp(block, block + 1, TAR_BLOCK - 1) == 0;
}

/* ---- numbers ---- */

static bool read_octal(const uint8_t *field, size_t len, uint64_t *ret)
{
	uint64_t value = 0;
	size_t i = 0;

	while (i < len && field[i] == ' ')
		i++;
	for (; i < len && field[i] >= '0' && field[i] <= '7'; i++)
		value = value << 3 | (uint64_t)(field[i] - '0');
	if (i < len && field[i] != ' ' && field[i] != '\0')
		return false;
	*ret = value;
	return true;
}

/* The first bit says that it is binary, the second would make it negative. */
static bool read_binary(const uint8_t *field, size_t len, uint64_t *ret)
{
	uint64_t value = field[0] & 0x7f;

	for (size_t i = 1; i < len; i++) {
		if (value >> 55)
			return false;
		value = value << 8 | field[i];
	}
	*ret = value;
	return true;
}

static bool read_number(const uint8_t *field, size_t len, uint64_t *ret)
{
	return field[0] & 0x80 ? read_binary(field, len, ret) :
				 read_octal(field, len, ret);
}

static bool sum_is_right(const uint8_t *block)
{
	uint64_t told;
	int64_t plain = ' ' * SUM_LEN;
	int64_t with_sign = ' ' * SUM_LEN;

	/* No sum is 0: its own place counts as spaces. */
	if (!read_octal(block + SUM_AT, SUM_LEN, &told) || !told)
		return false;
	for (size_t i = 0; i < TAR_BLOCK; i++) {
		if (i >= SUM_AT && i < SUM_AT + SUM_LEN)
			continue;
		plain += block[i];
		with_sign += (int8_t)block[i];
	}
	return (int64_t)told == plain || (int64_t)told == with_sign;
}

/* ---- the name ---- */

/* Only POSIX has a prefix: GNU keeps other things there. */
static bool has_prefix(const uint8_t *block)
{
	return memcmp(block + MAGIC_AT, "ustar\0", 6) == 0 && block[PREFIX_AT];
}

static void read_name(const uint8_t *block, char *ret)
{
	size_t n = 0;

	if (has_prefix(block)) {
		n = strnlen((const char *)block + PREFIX_AT, PREFIX_LEN);
		memcpy(ret, block + PREFIX_AT, n);
		ret[n++] = '/';
	}
	memcpy(ret + n, block + NAME_AT, NAME_LEN);
	ret[n + NAME_LEN] = '\0';
}

static char read_type(const uint8_t *block, const char *name)
{
	size_t len = strlen(name);

	switch (block[TYPE_AT]) {
	case '\0': /* before POSIX a folder was told by its slash */
		return len && name[len - 1] == '/' ? '5' : '0';
	case '7': /* contiguous, which nobody cares for */
		return '0';
	default:
		return (char)block[TYPE_AT];
	}
}

int tar_header_read(const uint8_t block[TAR_BLOCK], struct tar_header *ret,
		    const char **ret_why)
{
	if (is_zero(block))
		return 0;
	if (!sum_is_right(block)) {
		*ret_why = "its checksum is wrong";
		return -EBADMSG;
	}
	if (!read_number(block + SIZE_AT, SIZE_LEN, &ret->size) ||
	    ret->size > INT64_MAX) {
		*ret_why = "its size is not a number from 0 to 2^63 - 1";
		return -EBADMSG;
	}
	read_name(block, ret->name);
	ret->type = read_type(block, ret->name);
	return 1;
}
