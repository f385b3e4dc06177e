/* wire.h - what is in the envelope of an item.
 *
 *	0	struct wire_header
 *	16	the pickle, protocol 5
 *
 * Large leaves are persistent ids in the pickle.  The first one to a leaf is a tuple, all
 * others are the leaf's number, so that one object stays one object:
 *
 *	(leaf, KIND, what that kind needs: see leaf_*.c)
 *
 * `part` in there is the number of a buffer of the unit, or the bytes themselves when they are
 * few.  Buffers from n_parts on are those of pickle's own protocol, in its order.
 *
 * Both ends are on one machine, so numbers are in its byte order.  Nothing in here is believed
 * for the safety of memory: every number is checked against the unit. */
#ifndef ROAR_PYTHON_WIRE_H
#define ROAR_PYTHON_WIRE_H

#include <stdint.h>

enum { WIRE_VERSION = 1 };

enum wire_flags {
	WIRE_LEAVES = 1, /* the pickle has persistent ids */
};

struct wire_header {
	uint8_t version;
	uint8_t flags;
	uint16_t unused;
	uint32_t n_parts;
	uint64_t pickle_len;
};

enum wire_kind {
	WIRE_BYTES,
	WIRE_BYTEARRAY,
	WIRE_EXACT_BYTES, /* in the state of a type that may insist on them */
	WIRE_EXACT_BYTEARRAY,
	WIRE_MEMORYVIEW,
	WIRE_NDARRAY,
	WIRE_TENSOR,
	WIRE_PARAMETER,
	WIRE_REDUCED, /* taken apart by their own type */
	WIRE_REGISTERED,
	WIRE_KIND_END,
};

#endif
