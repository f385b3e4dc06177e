/* pack.h - packs and unpacks messages in memory that is reused.
 *
 * A heartbeat needs no allocation: messages are decoded into a block of the unpacker, which
 * is reused for the next message.  Only what does not fit is allocated, up to a limit,
 * because a few bytes on the wire can become many in memory. */
#ifndef COORDINATOR_PACK_H
#define COORDINATOR_PACK_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "base/str.h"

/* Appends the bytes of a message. */
void pack_add(struct str *out, const ProtobufCMessage *message);

enum {
	UNPACK_BLOCK = 64 << 10, /* bytes that are always allocated */
	UNPACK_MAX = 256 << 20, /* bytes beyond that */
};

struct unpacker {
	ProtobufCAllocator allocator;
	uint8_t *block;
	size_t used;
	struct pool more;
	size_t n_more; /* bytes allocated there */
	bool too_large; /* the last message was */
};

int unpacker_init(struct unpacker *u);
void unpacker_release(struct unpacker *u);

/* Decodes a message, without unknown fields; valid until unpack_done().  NULL: invalid, not
 * UTF-8, or too large. */
ProtobufCMessage *unpack(struct unpacker *u,
			 const ProtobufCMessageDescriptor *type,
			 const void *data, size_t len);
void unpack_done(struct unpacker *u);
/* Why it returned NULL. */
const char *unpack_sentence(const struct unpacker *u);

#endif
