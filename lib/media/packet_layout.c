/* packet_layout.c - see packet_layout.h */
#include "media/packet_layout.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "media/packet_meta.h"

void media_layout_release(struct media_layout *l)
{
	for (size_t i = 0; i < l->n_buffers; i++)
		av_buffer_unref(&l->buffers[i].ref);
	free(l->buffers);
	str_release(&l->meta);
	*l = (struct media_layout){ 0 };
}

static bool is_small(const AVPacket *packet)
{
	return packet->size < MEDIA_SMALL;
}

/* What a packet takes in the gathered buffer, so that the next is aligned. */
static uint64_t room_of(const AVPacket *packet)
{
	uint64_t len = (uint64_t)packet->size + MEDIA_PADDING;

	return (len + MEDIA_ALIGN - 1) & ~(uint64_t)(MEDIA_ALIGN - 1);
}

/* Chooses the places: gathered ones in buffer 0, if there are any, each other in one
 * of its own.  Returns the number of buffers; *ret_gathered is the size of the
 * first, 0: there is none. */
static uint32_t choose(const struct media_packets *p,
		       struct media_place *places, uint64_t *ret_gathered)
{
	uint64_t gathered = 0;
	uint32_t n;

	for (size_t i = 0; i < p->n_packets; i++) {
		const AVPacket *packet = p->packets[i];

		if (!packet->size || !is_small(packet))
			continue;
		places[i].size_bytes = (uint32_t)packet->size;
		places[i].offset = gathered;
		gathered += room_of(packet);
	}
	n = gathered ? 1 : 0;
	for (size_t i = 0; i < p->n_packets; i++) {
		if (is_small(p->packets[i]))
			continue;
		places[i].size_bytes = (uint32_t)p->packets[i]->size;
		places[i].buffer = n++;
	}
	*ret_gathered = gathered;
	return n;
}

static int gather(const struct media_packets *p,
		  const struct media_place *places, uint64_t len,
		  struct media_buffer *ret)
{
	AVBufferRef *ref = av_buffer_allocz((size_t)len);

	if (!ref)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_packets; i++)
		if (p->packets[i]->size && is_small(p->packets[i]))
			memcpy(ref->data + places[i].offset,
			       p->packets[i]->data,
			       (size_t)p->packets[i]->size);
	*ret = (struct media_buffer){ ref->data, (size_t)len, ref };
	return 0;
}

static int refer(const AVPacket *packet, struct media_buffer *ret)
{
	AVBufferRef *ref = av_buffer_ref(packet->buf);

	if (!ref)
		return -ENOMEM;
	*ret = (struct media_buffer){ packet->data,
				      (size_t)packet->size + MEDIA_PADDING,
				      ref };
	return 0;
}

/* The buffers in the order of choose(). */
static int fill(const struct media_packets *p, const struct media_place *places,
		uint64_t gathered, struct media_layout *l)
{
	int r;

	if (gathered) {
		r = gather(p, places, gathered, &l->buffers[l->n_buffers]);
		if (r < 0)
			return r;
		l->n_buffers++;
	}
	for (size_t i = 0; i < p->n_packets; i++) {
		if (is_small(p->packets[i]))
			continue;
		r = refer(p->packets[i], &l->buffers[l->n_buffers]);
		if (r < 0)
			return r;
		l->n_buffers++;
	}
	return 0;
}

int media_layout_make(const struct media_packets *p, struct media_layout *ret)
{
	CLEANUP(media_layout_release) struct media_layout l = { 0 };
	CLEANUP(freep) struct media_place *places = NULL;
	uint64_t gathered;
	uint32_t n;
	int r;

	places = calloc(p->n_packets + 1, sizeof(*places));
	if (!places)
		return -ENOMEM;
	n = choose(p, places, &gathered);
	l.buffers = calloc((size_t)n + 1, sizeof(*l.buffers));
	if (!l.buffers)
		return -ENOMEM;
	r = fill(p, places, gathered, &l);
	if (r < 0)
		return r;
	r = media_meta_write(p, places, n, &l.meta);
	if (r < 0)
		return r;

	*ret = l;
	l = (struct media_layout){ 0 };
	return 0;
}
