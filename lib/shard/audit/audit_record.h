/* audit_record.h - the encoding of audit files, as described in audit.h. */
#ifndef SHARD_AUDIT_AUDIT_RECORD_H
#define SHARD_AUDIT_AUDIT_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "shard/audit/audit.h"

struct str;

enum audit_kind {
	AUDIT_SEGMENT = 1,
	AUDIT_CONSUMED = 2,
	AUDIT_DROPPED = 3,
	AUDIT_PADDED = 4,
};

enum {
	AUDIT_MAGIC_LEN = 8,
	AUDIT_HEAD = 8, /* bytes before a body */
	AUDIT_CHECK = 8, /* bytes after it */
};

extern const char audit_magic[AUDIT_MAGIC_LEN];

/* A record as it was read; release it. */
struct audit_record {
	enum audit_kind kind;
	uint32_t index; /* of the segment */
	struct audit_segment segment; /* AUDIT_SEGMENT; its base is `ranges` */
	char *name; /* segment.dataset points to it */
	struct interval_set ranges; /* its base, or the positions */
};

void audit_record_release(struct audit_record *record);

/* Appends a complete record and updates *chain, the checksum so far. */
void audit_put_segment(struct str *out, uint64_t *chain,
		       const struct audit_segment *segment);
void audit_put_positions(struct str *out, uint64_t *chain, enum audit_kind kind,
			 uint32_t index, const struct interval_set *positions);

/* Reads a body into an empty record.  -EBADMSG: invalid; -ENOBUFS, -ENOMEM.  After an error
 * the record is empty. */
int audit_get(struct audit_record *record, uint32_t kind, const uint8_t *body,
	      size_t len);

/* Are its name, ranks and positions valid? */
bool audit_segment_is_valid(const struct audit_segment *segment);

#endif
