/* buffer.c - blocks go back and forth between buffers and the shelf. */
#include "net/buffer.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct shelf_block {
	struct shelf_block *next;
};

static const size_t MAX_LEN = (size_t)1 << 31;

void shelf_release(struct shelf *s)
{
	for (int i = 0; i < SHELF_N_SIZES; i++) {
		while (s->free[i]) {
			struct shelf_block *b = s->free[i];

			s->free[i] = b->next;
			free(b);
		}
	}
	s->kept = 0;
}

/* The index of the smallest size that holds `len` bytes. */
static int size_index(size_t len)
{
	if (len <= SHELF_SMALLEST)
		return 0;
	return 64 - __builtin_clzll((len - 1) / SHELF_SMALLEST);
}

static uint8_t *borrow(struct shelf *s, size_t cap)
{
	if (cap > SHELF_LARGEST)
		return malloc(cap);

	int i = size_index(cap);
	struct shelf_block *b = s->free[i];

	if (!b)
		return malloc(cap);
	s->free[i] = b->next;
	s->kept -= cap;
	return (uint8_t *)b;
}

static void give_back(struct shelf *s, uint8_t *data, size_t cap)
{
	if (cap > SHELF_LARGEST || s->kept + cap > SHELF_KEEPS) {
		free(data);
		return;
	}

	struct shelf_block *b = (struct shelf_block *)data;
	int i = size_index(cap);

	b->next = s->free[i];
	s->free[i] = b;
	s->kept += cap;
}

static size_t cap_for(size_t len)
{
	size_t cap = SHELF_SMALLEST;

	while (cap < len)
		cap *= 2;
	return cap;
}

static int grow(struct shelf *s, struct buffer *b, size_t len)
{
	size_t cap = cap_for(buffer_len(b) + len);
	uint8_t *data = borrow(s, cap);

	if (!data)
		return -ENOMEM;
	if (b->data) {
		memcpy(data, buffer_bytes(b), buffer_len(b));
		give_back(s, b->data, b->cap);
	}
	*b = (struct buffer){ .data = data,
			      .end = (uint32_t)buffer_len(b),
			      .cap = (uint32_t)cap };
	return 0;
}

uint8_t *buffer_room(struct shelf *s, struct buffer *b, size_t len)
{
	if (len > MAX_LEN - buffer_len(b))
		return NULL;
	if (len <= b->cap - b->end && b->data)
		return b->data + b->end;

	/* Moving is worth it when it makes at least as much room as it moves. */
	if (b->start >= b->cap / 2 && buffer_len(b) + len <= b->cap && b->data) {
		memmove(b->data, buffer_bytes(b), buffer_len(b));
		b->end -= b->start;
		b->start = 0;
		return b->data + b->end;
	}
	if (grow(s, b, len) < 0)
		return NULL;
	return b->data + b->end;
}

int buffer_add(struct shelf *s, struct buffer *b, const void *data, size_t len)
{
	if (len == 0)
		return 0;

	uint8_t *room = buffer_room(s, b, len);

	if (!room)
		return -ENOMEM;
	memcpy(room, data, len);
	b->end += (uint32_t)len;
	return 0;
}

void buffer_take(struct shelf *s, struct buffer *b, size_t len)
{
	assert(len <= buffer_len(b));
	b->start += (uint32_t)len;
	if (b->start == b->end)
		buffer_release(s, b);
}

void buffer_release(struct shelf *s, struct buffer *b)
{
	if (b->data)
		give_back(s, b->data, b->cap);
	*b = (struct buffer){ 0 };
}
