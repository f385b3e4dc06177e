/* buffer.h - a byte queue that holds memory only while it is not empty.
 *
 * A server with ten thousand connections has output for a few of them at a time.  So a
 * buffer borrows its memory from a shelf with its first byte, and returns it with its last.
 * Sizes are powers of two from SHELF_SMALLEST to SHELF_LARGEST; larger ones come from
 * malloc().  The shelf keeps a bounded amount for reuse.
 *
 * One thread. */
#ifndef NET_BUFFER_H
#define NET_BUFFER_H

#include <stddef.h>
#include <stdint.h>

enum {
	SHELF_SMALLEST = 256,
	SHELF_N_SIZES = 11,
	SHELF_LARGEST = SHELF_SMALLEST << (SHELF_N_SIZES - 1),
	SHELF_KEEPS = 16 << 20, /* most free bytes */
};

struct shelf_block;

struct shelf {
	struct shelf_block *free[SHELF_N_SIZES];
	size_t kept; /* bytes in `free` */
	size_t shared; /* bytes of blocks in queues (rpc_output.h), each block once */
};

void shelf_release(struct shelf *s);

struct buffer {
	uint8_t *data; /* NULL while empty */
	uint32_t start, end; /* of the contents in `data` */
	uint32_t cap;
};

static inline size_t buffer_len(const struct buffer *b)
{
	return b->end - b->start;
}

static inline uint8_t *buffer_bytes(const struct buffer *b)
{
	return b->data + b->start;
}

/* Room for `len` more bytes at the end; NULL when out of memory, or if the buffer would
 * exceed 2 GiB.  buffer_grew() reports how much of it was used. */
uint8_t *buffer_room(struct shelf *s, struct buffer *b, size_t len);

static inline void buffer_grew(struct buffer *b, size_t len)
{
	b->end += (uint32_t)len;
}

/* 0 or -ENOMEM (unchanged). */
int buffer_add(struct shelf *s, struct buffer *b, const void *data, size_t len);
/* Removes `len` bytes from the front; the buffer must have that many. */
void buffer_take(struct shelf *s, struct buffer *b, size_t len);
void buffer_release(struct shelf *s, struct buffer *b);

#endif
