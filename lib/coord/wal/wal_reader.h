/* wal_reader.h - reads the records of one log or snapshot in order.
 *
 * The file is read through a window, so memory is bounded by the largest record.  A record
 * is returned only if its checksum matches. */
#ifndef COORD_WAL_WAL_READER_H
#define COORD_WAL_WAL_READER_H

#include "coord/wal/wal_format.h"

struct wal_reader {
	int fd; /* the caller's */
	enum wal_kind kind;
	uint64_t number; /* the file's N */
	uint64_t salt;
	uint64_t size; /* of the file */
	uint64_t seq; /* of the next record */
	/* Offset of that record; at the end: where to cut the file. */
	uint64_t at;
	uint64_t proof; /* after -EBADMSG: offset of a later record, or 0 */
	unsigned char *window;
	size_t cap, len;
	uint64_t window_at; /* its offset in the file */
};

/* Reads the header.  -EBADMSG: it is not the header of this file. */
int wal_reader_open(struct wal_reader *r, int fd, enum wal_kind kind,
		    uint64_t number);
void wal_reader_release(struct wal_reader *r);

/* Returns 1 and the next record, whose payload is valid until the next call; 0 at the end;
 * -EBADMSG: damage at r->at; or the error of reading the file. */
int wal_reader_next(struct wal_reader *r, const void **ret_payload,
		    size_t *ret_len);

#endif
