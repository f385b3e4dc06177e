/* grpc_mem.c - blocks in lists by size; each knows its list. */
#include "net/grpc/grpc_mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Before each block.  As long as the alignment that malloc() gives. */
struct grpc_mem_block {
	struct grpc_mem_block *next; /* while it is free */
	size_t size; /* without this header */
};

enum { LARGEST = GRPC_MEM_STEP * GRPC_MEM_SIZES };

static void *after(struct grpc_mem_block *b)
{
	return b + 1;
}

static struct grpc_mem_block *before(void *data)
{
	return (struct grpc_mem_block *)data - 1;
}

/* The list of blocks of at least `size` bytes. */
static size_t list_of(size_t size)
{
	return size ? (size - 1) / GRPC_MEM_STEP : 0;
}

static void *take(size_t size, void *data)
{
	struct grpc_mem *m = data;

	if (size > SIZE_MAX - sizeof(struct grpc_mem_block) - GRPC_MEM_STEP)
		return NULL;
	if (size <= LARGEST) {
		struct grpc_mem_block **list = &m->free[list_of(size)];
		struct grpc_mem_block *b = *list;

		size = (list_of(size) + 1) * GRPC_MEM_STEP;
		if (b) {
			*list = b->next;
			m->kept -= size;
			return after(b);
		}
	}

	struct grpc_mem_block *b = malloc(sizeof(*b) + size);

	if (!b)
		return NULL;
	b->size = size;
	return after(b);
}

static void give_back(void *block, void *data)
{
	struct grpc_mem *m = data;

	if (!block)
		return;

	struct grpc_mem_block *b = before(block);

	if (b->size > LARGEST || m->kept + b->size > GRPC_MEM_KEEPS) {
		free(b);
		return;
	}
	b->next = m->free[list_of(b->size)];
	m->free[list_of(b->size)] = b;
	m->kept += b->size;
}

static void *take_zeroed(size_t n, size_t size, void *data)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total))
		return NULL;

	void *block = take(total, data);

	if (block)
		memset(block, 0, total);
	return block;
}

static void *resize(void *block, size_t size, void *data)
{
	if (block && before(block)->size >= size)
		return block;

	void *larger = take(size, data);

	if (!larger || !block)
		return larger;
	memcpy(larger, block, before(block)->size);
	give_back(block, data);
	return larger;
}

void grpc_mem_init(struct grpc_mem *m)
{
	*m = (struct grpc_mem){ .mem = { .mem_user_data = m,
					 .malloc = take,
					 .free = give_back,
					 .calloc = take_zeroed,
					 .realloc = resize } };
}

void grpc_mem_release(struct grpc_mem *m)
{
	for (size_t i = 0; i < GRPC_MEM_SIZES; i++) {
		while (m->free[i]) {
			struct grpc_mem_block *b = m->free[i];

			m->free[i] = b->next;
			free(b);
		}
	}
	m->kept = 0;
}
