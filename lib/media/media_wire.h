/* media_wire.h - a sequence of little-endian numbers: written to a str, read from bytes.
 *
 * A reader never passes the end: the first read that would sets an error flag and returns
 * zeros, as do all later reads, so the caller checks once at the end. */
#ifndef ROAR_MEDIA_WIRE_H
#define ROAR_MEDIA_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct wire {
	const uint8_t *at;
	size_t left; /* bytes from there on */
	bool short_of; /* a read passed the end */
};

static inline void wire_put(struct str *out, uint64_t value, int n_bytes)
{
	for (int i = 0; i < n_bytes; i++)
		str_addc(out, (char)(uint8_t)(value >> (8 * i)));
}

static inline void wire_put16(struct str *out, uint16_t value)
{
	wire_put(out, value, 2);
}

static inline void wire_put32(struct str *out, uint32_t value)
{
	wire_put(out, value, 4);
}

static inline void wire_put64(struct str *out, uint64_t value)
{
	wire_put(out, value, 8);
}

/* The next `len` bytes; NULL: fewer are left. */
static inline const uint8_t *wire_take(struct wire *w, size_t len)
{
	const uint8_t *bytes = w->at;

	if (w->short_of || len > w->left) {
		w->short_of = true;
		return NULL;
	}
	w->at += len;
	w->left -= len;
	return bytes;
}

static inline uint64_t wire_get(struct wire *w, int n_bytes)
{
	const uint8_t *bytes = wire_take(w, (size_t)n_bytes);
	uint64_t value = 0;

	for (int i = 0; bytes && i < n_bytes; i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	return value;
}

static inline uint16_t wire_get16(struct wire *w)
{
	return (uint16_t)wire_get(w, 2);
}

static inline uint32_t wire_get32(struct wire *w)
{
	return (uint32_t)wire_get(w, 4);
}

static inline uint64_t wire_get64(struct wire *w)
{
	return wire_get(w, 8);
}

#endif
