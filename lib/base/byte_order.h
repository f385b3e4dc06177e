/* byte_order.h - reads and writes integers of a byte order at any address.
 *
 *	le16_get(p) le32_get(p) le64_get(p)	little-endian, as in roar's formats
 *	le16_put(p, v) le32_put(p, v) le64_put(p, v)
 *	be16_get(p) be32_get(p)			big-endian, as in foreign formats
 *	be16_put(p, v) be32_put(p, v)
 *
 * Each compiles to one load or store, and a swap where the machine needs one. */
#ifndef ROAR_BASE_BYTE_ORDER_H
#define ROAR_BASE_BYTE_ORDER_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define DEFINE_BYTE_ORDER(order, bits)                                  \
	static inline uint##bits##_t order##bits##_get(const void *p)   \
	{                                                               \
		uint##bits##_t v;                                       \
                                                                        \
		memcpy(&v, p, sizeof(v));                               \
		return order##bits##toh(v);                             \
	}                                                               \
                                                                        \
	static inline void order##bits##_put(void *p, uint##bits##_t v) \
	{                                                               \
		v = hto##order##bits(v);                                \
		memcpy(p, &v, sizeof(v));                               \
	}

DEFINE_BYTE_ORDER(le, 16)
DEFINE_BYTE_ORDER(le, 32)
DEFINE_BYTE_ORDER(le, 64)
DEFINE_BYTE_ORDER(be, 16)
DEFINE_BYTE_ORDER(be, 32)

#undef DEFINE_BYTE_ORDER
#endif
