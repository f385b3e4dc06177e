/* wal_format.c - see wal_format.h */
#include "coord/wal/wal_format.h"

#include <assert.h>
#include <string.h>

#include "base/byte_order.h"
#include "hash/digest/crc64nvme.h"

static const char magics[][8] = {
	[WAL_LOG] = { 'R', 'O', 'A', 'R', 'L', 'O', 'G', '1' },
	[WAL_SNAPSHOT] = { 'R', 'O', 'A', 'R', 'S', 'N', 'P', '1' },
};

void wal_header_put(unsigned char *to, enum wal_kind kind, uint64_t number,
		    uint64_t salt)
{
	memcpy(to, magics[kind], sizeof(magics[kind]));
	le64_put(to + 8, number);
	le64_put(to + 16, salt);
	le64_put(to + 24, crc64nvme(0, to, 24));
}

bool wal_header_get(const unsigned char *from, enum wal_kind kind,
		    uint64_t number, uint64_t *ret_salt)
{
	if (memcmp(from, magics[kind], sizeof(magics[kind])) != 0 ||
	    le64_get(from + 8) != number ||
	    le64_get(from + 24) != crc64nvme(0, from, 24))
		return false;
	*ret_salt = le64_get(from + 16);
	return true;
}

size_t wal_record_size(size_t len)
{
	return WAL_HEAD + ((len + 7) & ~(size_t)7);
}

/* The salt stands for the checksum of something before the record that only we
 * know. */
static uint64_t checksum(const unsigned char *at, uint64_t salt, size_t len)
{
	return crc64nvme(crc64nvme(salt, at, 16), at + WAL_HEAD, len);
}

void wal_record_put(unsigned char *to, uint64_t salt, uint32_t mark,
		    uint64_t seq, const void *payload, size_t len)
{
	assert(len > 0);
	le32_put(to, (uint32_t)len);
	le32_put(to + 4, mark);
	le64_put(to + 8, seq);
	memcpy(to + WAL_HEAD, payload, len);
	memset(to + WAL_HEAD + len, 0, wal_record_size(len) - WAL_HEAD - len);
	le64_put(to + 16, checksum(to, salt, len));
}

void wal_head_get(const unsigned char *from, struct wal_head *ret)
{
	*ret = (struct wal_head){
		.len = le32_get(from),
		.mark = le32_get(from + 4),
		.seq = le64_get(from + 8),
		.crc = le64_get(from + 16),
	};
}

bool wal_record_is_whole(const unsigned char *from, uint64_t salt,
			 const struct wal_head *head)
{
	return checksum(from, salt, head->len) == head->crc;
}
