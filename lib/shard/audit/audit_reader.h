/* audit_reader.h - reads an audit file, record by record.
 *
 * Nothing in a file is trusted: records are checked against their checksums, positions
 * against their segments.  At most one record is in memory. */
#ifndef SHARD_AUDIT_AUDIT_READER_H
#define SHARD_AUDIT_AUDIT_READER_H

#include <stdio.h>

#include "shard/audit/audit_record.h"

/* All zero before audit_reader_init(). */
struct audit_reader {
	FILE *file; /* the caller's */
	uint64_t chain; /* checksum of the records so far */
	uint64_t offset; /* bytes of complete records */
	uint64_t *totals; /* positions of each segment */
	size_t n_segments;
	size_t cap;
	uint8_t *buffer;
	size_t buffer_cap;
	bool cut; /* the file ended within a record, or in zeros */
};

/* Reads the magic at the start of the file.  -EBADMSG when it is not an audit file,
 * -ENODATA when it is empty, or the error of reading. */
int audit_reader_init(struct audit_reader *r, FILE *file);
void audit_reader_release(struct audit_reader *r);

/* Reads the next record into an empty one.  Returns 1: a record; 0: the end of the file;
 * -EBADMSG: the file is damaged from byte `offset` on; -ENOBUFS, -ENOMEM, or the error of
 * reading. */
int audit_reader_next(struct audit_reader *r, struct audit_record *record);

#endif
