/* wal_reader.h - records of one log or snapshot, in order, none of them guessed.
 *
 * A window over the file is read piece by piece, so memory is bounded by the
 * largest record.  Nothing in the file is believed before its checksum fits. */
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
	uint64_t at; /* where that begins; at the end: where the file may be cut */
	uint64_t proof; /* after -EBADMSG: where a later record stands, or 0 */
	unsigned char *window;
	size_t cap, len;
	uint64_t window_at; /* its place in the file */
};

/* Looks at the header.  -EBADMSG when that is none of this file. */
int wal_reader_open(struct wal_reader *r, int fd, enum wal_kind kind,
		    uint64_t number);
void wal_reader_release(struct wal_reader *r);

/* 1 and the next record, whose payload lives until the next call; 0 at the end;
 * -EBADMSG for damage at r->at; or why the file cannot be read. */
int wal_reader_next(struct wal_reader *r, const void **ret_payload,
		    size_t *ret_len);

#endif
