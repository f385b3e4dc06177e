/* decode.c - packets in, frames out; what becomes of a frame is in frame_joiner.c. */
#include "media/decode.h"

#include <errno.h>
#include <stdbool.h>

#include "base/error.h"
#include "media/averror.h"
#include "media/frame_joiner.h"

static void context_freep(AVCodecContext **context)
{
	avcodec_free_context(context);
}

static void frame_freep(AVFrame **frame)
{
	av_frame_free(frame);
}

static int no_memory(struct roar_error *err)
{
	return error_set(err, -ENOMEM, "out of memory");
}

static int open_decoder(const struct media_packets *p,
			const struct media_decode_options *o,
			AVCodecContext **ret, struct roar_error *err)
{
	const char *name = avcodec_get_name(p->params->codec_id);
	const AVCodec *codec = avcodec_find_decoder(p->params->codec_id);
	CLEANUP(context_freep) AVCodecContext *c = NULL;
	int r;

	if (!codec)
		return error_set(err, -ENOTSUP,
				 "FFmpeg has no decoder for %s here, install a "
				 "build that has one",
				 name);
	c = avcodec_alloc_context3(codec);
	if (!c)
		return no_memory(err);
	r = avcodec_parameters_to_context(c, p->params);
	if (r < 0)
		return no_memory(err);
	c->pkt_timebase = p->time_base;
	c->thread_count = o->n_threads;
	/* A pixel takes a byte at least: a frame over the limit is not begun. */
	if ((uint64_t)c->max_pixels > o->max_bytes)
		c->max_pixels = (int64_t)o->max_bytes;
	r = avcodec_open2(c, codec, NULL);
	if (r < 0)
		return error_set(err, -EBADMSG,
				 "the decoder for %s refuses the stream's "
				 "parameters (%s), is the file damaged?",
				 name, averror_text(r).text);
	*ret = TAKE_PTR(c);
	return 0;
}

/* Takes all frames that the decoder has ready.  0: it wants more, 1: that was the
 * last, or a negative errno. */
static int drain(AVCodecContext *c, AVFrame *frame, struct frames *frames,
		 size_t at, struct roar_error *err)
{
	for (;;) {
		int r = avcodec_receive_frame(c, frame);

		if (r == AVERROR(EAGAIN))
			return 0;
		if (r == AVERROR_EOF)
			return 1;
		if (r < 0)
			return error_set(err, -EBADMSG,
					 "the packets before %zu cannot be "
					 "decoded (%s), is the file damaged?",
					 at, averror_text(r).text);
		r = frames_add(frames, frame, err);
		av_frame_unref(frame);
		if (r < 0)
			return r;
	}
}

static int feed(AVCodecContext *c, const AVPacket *packet, size_t at,
		struct roar_error *err)
{
	int r = avcodec_send_packet(c, packet);

	/* The decoder has seen the end inside the stream. */
	if (r == AVERROR_EOF || r >= 0)
		return 0;
	return error_set(err, -EBADMSG,
			 "packet %zu cannot be decoded (%s), is the file "
			 "damaged?",
			 at, averror_text(r).text);
}

/* Nothing at all would mean the end of the stream. */
static bool says_something(const AVPacket *packet)
{
	return packet->size || packet->side_data_elems;
}

static int decode_all(AVCodecContext *c, const struct media_packets *p,
		      struct frames *frames, struct roar_error *err)
{
	CLEANUP(frame_freep) AVFrame *frame = av_frame_alloc();
	int r;

	if (!frame)
		return no_memory(err);
	for (size_t i = 0; i < p->n_packets; i++) {
		if (!says_something(p->packets[i]))
			continue;
		r = feed(c, p->packets[i], i, err);
		if (r == 0)
			r = drain(c, frame, frames, i + 1, err);
		if (r < 0)
			return r;
	}
	r = feed(c, NULL, p->n_packets, err);
	if (r == 0)
		r = drain(c, frame, frames, p->n_packets, err);
	return r < 0 ? r : 0;
}

int media_decode(const struct media_packets *p,
		 const struct media_decode_options *options,
		 struct media_frames *ret, struct roar_error *err)
{
	CLEANUP(frames_release) struct frames frames = FRAMES_INIT(options);
	CLEANUP(context_freep) AVCodecContext *c = NULL;
	int r = open_decoder(p, options, &c, err);

	if (r == 0)
		r = decode_all(c, p, &frames, err);
	if (r == 0)
		r = frames_take(&frames, ret, err);
	return r;
}
