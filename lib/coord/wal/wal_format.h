/* wal_format.h - the bytes of logs and snapshots, as wal.h describes them. */
#ifndef COORD_WAL_WAL_FORMAT_H
#define COORD_WAL_WAL_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wal_kind {
	WAL_LOG,
	WAL_SNAPSHOT,
};

enum {
	WAL_HEADER = 32, /* bytes before the first record */
	WAL_HEAD = 24, /* bytes of a record before its payload */
	WAL_MIN_SIZE = WAL_HEAD + 8, /* of a whole record */
};

/* The fields before a payload. */
struct wal_head {
	uint32_t len; /* of the payload */
	uint32_t mark; /* log: records of the same write before; snapshot: 1 at its end */
	uint64_t seq;
	uint64_t crc;
};

void wal_header_put(unsigned char *to, enum wal_kind kind, uint64_t number,
		    uint64_t salt);
/* Is this the header of that file?  If so, *ret_salt is its salt. */
bool wal_header_get(const unsigned char *from, enum wal_kind kind,
		    uint64_t number, uint64_t *ret_salt);

/* Bytes that a record of `len` bytes takes in the file. */
size_t wal_record_size(size_t len);
/* Writes wal_record_size(len) bytes. */
void wal_record_put(unsigned char *to, uint64_t salt, uint32_t mark,
		    uint64_t seq, const void *payload, size_t len);
void wal_head_get(const unsigned char *from, struct wal_head *ret);
/* Does the checksum match the head at `from` and the head->len bytes of payload after
 * it? */
bool wal_record_is_whole(const unsigned char *from, uint64_t salt,
			 const struct wal_head *head);

#endif
