/* packets.c - see packets.h */
#include "media/packets.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

int media_packets_new(enum media_kind kind, struct media_packets **ret)
{
	CLEANUP(media_packets_freep)
	struct media_packets *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->kind = kind;
	p->params = avcodec_parameters_alloc();
	if (!p->params)
		return -ENOMEM;
	p->params->codec_type = media_type(kind);

	*ret = TAKE_PTR(p);
	return 0;
}

void media_packets_free(struct media_packets *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_packets; i++)
		av_packet_free(&p->packets[i]);
	free(p->packets);
	avcodec_parameters_free(&p->params);
	free(p);
}

int media_packets_add(struct media_packets *p, AVPacket *packet)
{
	CLEANUP(media_packet_freep) AVPacket *mine = packet;

	assert(!packet->size || packet->buf);
	assert(!(packet->flags & AV_PKT_FLAG_TRUSTED));

	AVPacket **place = VEC_PUSH(p->packets, p->n_packets, p->n_allocated);
	if (!place)
		return -ENOMEM;
	*place = TAKE_PTR(mine);
	return 0;
}

uint64_t media_packets_bytes(const struct media_packets *p)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < p->n_packets; i++)
		bytes += (uint64_t)p->packets[i]->size;
	return bytes;
}
