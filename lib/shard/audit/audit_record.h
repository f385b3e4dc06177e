/* audit_record.h - the bytes of audit files, as audit.h draws them. */
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
	AUDIT_CHECK = 8, /* and behind it */
};

extern const char audit_magic[AUDIT_MAGIC_LEN];

/* A record as it was read; release it. */
struct audit_record {
	enum audit_kind kind;
	uint32_t index; /* of the segment */
	struct audit_segment segment; /* AUDIT_SEGMENT; its base is `ranges` */
	char *name; /* which segment.dataset points to */
	struct interval_set ranges; /* its base, or the positions */
};

void audit_record_release(struct audit_record *record);

/* Appends a whole record.  *chain is the checksum so far and moves on. */
void audit_put_segment(struct str *out, uint64_t *chain,
		       const struct audit_segment *segment);
void audit_put_positions(struct str *out, uint64_t *chain, enum audit_kind kind,
			 uint32_t index, const struct interval_set *positions);

/* Reads a body into an empty record.  -EBADMSG for what is none, -ENOBUFS, -ENOMEM; the
 * record is empty then. */
int audit_get(struct audit_record *record, uint32_t kind, const uint8_t *body,
	      size_t len);

/* Whether its numbers can be: names, ranks, positions. */
bool audit_segment_is_valid(const struct audit_segment *segment);

#endif
