/* ckpt_slots.c - see ckpt_slots.h */
#include "ckpt/ckpt_slots.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ckpt_slots_init(struct ckpt_slots *s, struct blob_store *store,
		     const char *path, size_t slot_bytes, size_t block_bytes)
{
	assert(block_bytes % slot_bytes == 0);
	*s = (struct ckpt_slots){ .store = store,
				  .path = path,
				  .slot_bytes = slot_bytes,
				  .n_in_block = (unsigned)(block_bytes /
							   slot_bytes),
				  .lock = PTHREAD_MUTEX_INITIALIZER };
}

static void free_block(struct slot_block *b)
{
	if (b)
		free(b->memory);
	free(b);
}

static struct slot_block *new_block(const struct ckpt_slots *s)
{
	struct slot_block *b = calloc(1, sizeof(*b));

	if (b)
		b->memory = aligned_alloc(
			CKPT_ALIGN, CKPT_ALIGN + s->n_in_block * s->slot_bytes);
	if (b && b->memory)
		return b;
	free(b);
	return NULL;
}

static uint64_t block_offset(const struct ckpt_slots *s, uint64_t number)
{
	return CKPT_ALIGN + number * s->n_in_block * s->slot_bytes;
}

/* Takes the next slot; with the lock. */
static int take_slot(struct ckpt_slots *s, struct slot_block **ret_block,
		     unsigned *ret_index, struct roar_error *err)
{
	int r = 0;

	if (!s->writer)
		r = blob_create(s->store, s->path, 0, &s->writer, err);
	if (r == 0 && !s->open) {
		s->open = s->free ? s->free : new_block(s);
		if (!s->open)
			return -ENOMEM;
		s->free = s->free ? s->free->next : NULL;
		s->open->number = s->n_blocks++;
		s->open->n_taken = s->open->n_filled = 0;
		if (s->open->number == 0)
			s->first = s->open;
	}
	if (r < 0)
		return r;
	*ret_block = s->open;
	*ret_index = s->open->n_taken++;
	s->n_slots++;
	if (s->open->n_taken == s->n_in_block)
		s->open = NULL;
	return 0;
}

static int write_block(struct ckpt_slots *s, struct slot_block *b,
		       struct roar_error *err)
{
	int r = blob_write(s->writer, block_offset(s, b->number),
			   b->memory + CKPT_ALIGN,
			   s->n_in_block * s->slot_bytes, err);

	(void)pthread_mutex_lock(&s->lock);
	b->next = s->free;
	s->free = b;
	(void)pthread_mutex_unlock(&s->lock);
	return r;
}

int ckpt_slots_put(struct ckpt_slots *s, const void *leaf, size_t len,
		   uint64_t *ret, struct roar_error *err)
{
	struct slot_block *b = NULL;
	unsigned index = 0;
	bool is_full;
	char *to;
	int r;

	assert(len <= s->slot_bytes);
	(void)pthread_mutex_lock(&s->lock);
	r = take_slot(s, &b, &index, err);
	(void)pthread_mutex_unlock(&s->lock);
	if (r < 0)
		return r;
	to = b->memory + CKPT_ALIGN + index * s->slot_bytes;
	memcpy(to, leaf, len);
	memset(to + len, 0, s->slot_bytes - len);
	*ret = block_offset(s, b->number) + index * s->slot_bytes;
	(void)pthread_mutex_lock(&s->lock);
	is_full = ++b->n_filled == s->n_in_block && b != s->first;
	(void)pthread_mutex_unlock(&s->lock);
	return is_full ? write_block(s, b, err) : 0;
}

/* The first block has the header before it. */
static int write_first(struct ckpt_slots *s, struct roar_error *err)
{
	CLEANUP(str_release) struct str header = STR_INIT;

	ckpt_layout_leaves_header(&header, s->n_slots * s->slot_bytes);
	if (str_error(&header) < 0)
		return -ENOMEM;
	assert(header.len == CKPT_ALIGN);
	memcpy(s->first->memory, header.data, CKPT_ALIGN);
	return blob_write(s->writer, 0, s->first->memory,
			  CKPT_ALIGN + s->first->n_filled * s->slot_bytes, err);
}

int ckpt_slots_finish(struct ckpt_slots *s, uint64_t *ret_size,
		      struct roar_error *err)
{
	uint64_t size = CKPT_ALIGN + s->n_slots * s->slot_bytes;
	int r = 0;

	*ret_size = 0;
	if (!s->writer)
		return 0;
	if (s->open && s->open != s->first)
		r = blob_write(s->writer, block_offset(s, s->open->number),
			       s->open->memory + CKPT_ALIGN,
			       s->open->n_filled * s->slot_bytes, err);
	if (r == 0)
		r = write_first(s, err);
	if (r == 0)
		r = blob_finish(TAKE_PTR(s->writer), size, err);
	if (r == 0)
		*ret_size = size;
	return r;
}

void ckpt_slots_release(struct ckpt_slots *s)
{
	blob_abandon(TAKE_PTR(s->writer));
	if (s->open != s->first)
		free_block(s->open);
	free_block(s->first);
	while (s->free) {
		struct slot_block *b = s->free;

		s->free = b->next;
		free_block(b);
	}
}
