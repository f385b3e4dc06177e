/* pack.h - messages to bytes and back, in memory that is used again.
 *
 * A heartbeat takes no memory from the heap: what is decoded lies in a block of the
 * unpacker, which is empty again for the next message.  Only what does not fit is
 * allocated, up to a limit: a few bytes on the wire can mean many in memory. */
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
	UNPACK_BLOCK = 64 << 10, /* bytes that are always there */
	UNPACK_MAX = 256 << 20, /* beyond that */
};

struct unpacker {
	ProtobufCAllocator allocator;
	uint8_t *block;
	size_t used;
	struct pool more;
	size_t n_more; /* bytes taken there */
	bool too_large; /* the last message was */
};

int unpacker_init(struct unpacker *u);
void unpacker_release(struct unpacker *u);

/* The message without the fields that are not in its type, until unpack_done(); NULL when it is none, has text that is no UTF-8, or
 * would be too large. */
ProtobufCMessage *unpack(struct unpacker *u,
			 const ProtobufCMessageDescriptor *type,
			 const void *data, size_t len);
void unpack_done(struct unpacker *u);
/* Why it returned NULL. */
const char *unpack_sentence(const struct unpacker *u);

#endif
