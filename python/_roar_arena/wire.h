/* wire.h - the format of an item's envelope.
 *
 *	0	struct wire_header
 *	16	the pickle, protocol 5
 *
 * Large leaves are persistent ids in the pickle.  The first id of a leaf is a tuple; later ids
 * are the leaf's number, so that object identity is preserved:
 *
 *	(leaf, KIND, fields of that kind: see leaf_*.c)
 *
 * A field `part` is the number of a buffer of the unit, or the bytes themselves if they are
 * small.  Buffers from n_parts on are pickle's out-of-band buffers, in its order.
 *
 * Both processes are on one machine, so integers are in native byte order.  The receiver does
 * not trust the envelope: it checks every number against the unit. */
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
	WIRE_EXACT_BYTES, /* in the state of a type that may require them */
	WIRE_EXACT_BYTEARRAY,
	WIRE_MEMORYVIEW,
	WIRE_NDARRAY,
	WIRE_TENSOR,
	WIRE_PARAMETER,
	WIRE_REDUCED, /* reduced by their own type */
	WIRE_REGISTERED,
	WIRE_KIND_END,
};

#endif
