/* packets.h - the compressed packets of one stream, as read by a demuxer.
 *
 * A set is filled once and then only read, so any number of threads may use it.
 * Wherever it comes from (demux.h, packet_layout.h), two things hold for each of its packets:
 *
 *  - Its data is reference-counted (AVPacket.buf), never borrowed.  It is followed by
 *    AV_INPUT_BUFFER_PADDING_SIZE zero bytes, because decoders read past the end.
 *  - AV_PKT_FLAG_TRUSTED is not set: it makes decoders interpret bytes as pointers.
 *
 * A packet without data (it changes parameters by side data) has no buffer. */
#ifndef ROAR_MEDIA_PACKETS_H
#define ROAR_MEDIA_PACKETS_H

#include <libavcodec/avcodec.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

enum media_kind {
	MEDIA_VIDEO,
	MEDIA_AUDIO,
};

enum {
	MEDIA_PADDING = AV_INPUT_BUFFER_PADDING_SIZE,
	/* Enough for days of video.  A small hostile file can declare any number. */
	MEDIA_MAX_PACKETS = 1 << 22,
	/* Flags that are accepted from outside. */
	MEDIA_FLAGS = AV_PKT_FLAG_KEY | AV_PKT_FLAG_CORRUPT |
		      AV_PKT_FLAG_DISCARD | AV_PKT_FLAG_DISPOSABLE,
};

struct media_packets {
	enum media_kind kind;
	AVCodecParameters *params; /* of the stream: codec, size, rate... */
	AVRational time_base; /* of the packets' times, in seconds */
	AVRational frame_rate; /* of video, on average; 0/0: unknown */
	AVPacket **packets; /* in decoding order */
	size_t n_packets;
	size_t n_allocated;
};

/* An empty set, owned by the caller.  -ENOMEM. */
int media_packets_new(enum media_kind kind, struct media_packets **ret);
void media_packets_free(struct media_packets *p);
DEFINE_CLEANUP(struct media_packets *, media_packets_free)

/* Appends the packet, which must satisfy the conditions above.  Takes ownership, also on
 * failure (-ENOMEM). */
int media_packets_add(struct media_packets *p, AVPacket *packet);

/* Bytes of data in all packets, without padding. */
uint64_t media_packets_bytes(const struct media_packets *p);

static inline enum AVMediaType media_type(enum media_kind kind)
{
	return kind == MEDIA_VIDEO ? AVMEDIA_TYPE_VIDEO : AVMEDIA_TYPE_AUDIO;
}

static inline const char *media_kind_name(enum media_kind kind)
{
	return kind == MEDIA_VIDEO ? "video" : "audio";
}

/* FFmpeg's pair of alloc and free, for CLEANUP(). */
static inline void media_packet_freep(AVPacket **packet)
{
	av_packet_free(packet);
}

#endif
