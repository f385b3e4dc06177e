/* clip.c - see clip.h */
#include "clip.h"

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/opt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

enum { SAMPLE_RATE = 48000, N_CHANNELS = 2, PCM_FRAME = 1024 };

/* Encoders take samples in a form of their own. */
static const struct {
	const char *codec;
	enum AVSampleFormat format;
} sample_formats[] = {
	{ "aac", AV_SAMPLE_FMT_FLTP },
	{ "flac", AV_SAMPLE_FMT_S16 },
	{ "libmp3lame", AV_SAMPLE_FMT_FLTP },
	{ "libopus", AV_SAMPLE_FMT_S16 },
	{ "pcm_s16le", AV_SAMPLE_FMT_S16 },
	{ "pcm_f32le", AV_SAMPLE_FMT_FLT },
};

struct making {
	const struct clip *clip;
	AVFormatContext *format;
	AVStream *stream;
	AVCodecContext *encoder;
	AVFrame *frame;
	AVPacket *packet;
	uint32_t noise;
	int64_t at; /* frames, or samples, so far */
};

static void making_release(struct making *m)
{
	if (m->format)
		avio_closep(&m->format->pb);
	avformat_free_context(m->format);
	avcodec_free_context(&m->encoder);
	av_frame_free(&m->frame);
	av_packet_free(&m->packet);
}

/* An error of FFmpeg's: one of the system, or something about the encoding. */
static int errno_of(int r)
{
	return r > -4096 ? r : -EINVAL;
}

static uint32_t noise(struct making *m)
{
	m->noise ^= m->noise << 13;
	m->noise ^= m->noise >> 17;
	m->noise ^= m->noise << 5;
	return m->noise;
}

/* ---- pictures ---- */

/* A slope that moves with time, and noise in its low bits. */
static void draw_plane(struct making *m, int plane, int width, int height)
{
	for (int y = 0; y < height; y++) {
		uint8_t *row = m->frame->data[plane] +
			       (ptrdiff_t)y * m->frame->linesize[plane];

		for (int x = 0; x < width; x++)
			row[x] = (uint8_t)((x + y + 4 * (int)m->at +
					    64 * plane) ^
					   (int)(noise(m) & 15));
	}
}

static int draw(struct making *m)
{
	int width = m->encoder->width;
	int height = m->encoder->height;

	draw_plane(m, 0, width, height);
	draw_plane(m, 1, (width + 1) / 2, (height + 1) / 2);
	draw_plane(m, 2, (width + 1) / 2, (height + 1) / 2);
	return 1;
}

/* Constant rate: x264 fills what it does not need with bytes of nothing. */
static void set_rate(struct making *m)
{
	AVCodecContext *c = m->encoder;
	uint64_t bits = m->clip->size_bytes * 8;

	if (!bits)
		return;
	c->bit_rate = (int64_t)(bits / (uint64_t)m->clip->seconds);
	c->rc_min_rate = c->bit_rate;
	c->rc_max_rate = c->bit_rate;
	c->rc_buffer_size = (int)(c->bit_rate / 8);
	(void)av_opt_set(c->priv_data, "x264-params", "nal-hrd=cbr:force-cfr=1",
			 0);
}

static void set_video(struct making *m)
{
	AVCodecContext *c = m->encoder;

	c->width = m->clip->width;
	c->height = m->clip->height;
	c->pix_fmt = strcmp(m->clip->codec, "mjpeg") == 0 ?
			     AV_PIX_FMT_YUVJ420P :
			     AV_PIX_FMT_YUV420P;
	c->time_base = (AVRational){ 1, m->clip->fps };
	c->framerate = (AVRational){ m->clip->fps, 1 };
	c->gop_size = m->clip->fps;
	c->max_b_frames = m->clip->b_frames;
	/* Without threads the bytes are the same on every machine. */
	c->thread_count = 1;
	(void)av_opt_set(c->priv_data, "preset",
			 m->clip->b_frames ? "veryfast" : "ultrafast", 0);
	set_rate(m);
	m->frame->width = c->width;
	m->frame->height = c->height;
	m->frame->format = c->pix_fmt;
}

/* ---- sound ---- */

static void put_sample(AVFrame *frame, int channel, int i, double value)
{
	bool planar = av_sample_fmt_is_planar(
		(enum AVSampleFormat)frame->format);
	uint8_t *plane = frame->data[planar ? channel : 0];
	int at = planar ? i : i * N_CHANNELS + channel;

	if (frame->format == AV_SAMPLE_FMT_S16)
		((int16_t *)plane)[at] = (int16_t)(value * 32000);
	else
		((float *)plane)[at] = (float)value;
}

/* A tone that rises, another one beside it, a little noise. */
static int sing(struct making *m)
{
	for (int i = 0; i < m->frame->nb_samples; i++) {
		double t = (double)(m->at + i) / SAMPLE_RATE;
		double hiss = (double)(noise(m) & 255) / 4096;

		put_sample(m->frame, 0, i,
			   0.4 * sin(t * (1500 + 800 * t)) + hiss);
		put_sample(m->frame, 1, i, 0.4 * sin(t * 2000) - hiss);
	}
	return m->frame->nb_samples;
}

static void set_audio(struct making *m)
{
	AVCodecContext *c = m->encoder;

	c->sample_rate = SAMPLE_RATE;
	c->time_base = (AVRational){ 1, SAMPLE_RATE };
	av_channel_layout_default(&c->ch_layout, N_CHANNELS);
	for (size_t i = 0; i < sizeof(sample_formats) / sizeof(*sample_formats);
	     i++)
		if (strcmp(sample_formats[i].codec, m->clip->codec) == 0)
			c->sample_fmt = sample_formats[i].format;
	m->frame->format = c->sample_fmt;
	m->frame->sample_rate = SAMPLE_RATE;
	(void)av_channel_layout_copy(&m->frame->ch_layout, &c->ch_layout);
}

/* ---- both ---- */

static bool is_video(const struct making *m)
{
	return m->encoder->codec_type == AVMEDIA_TYPE_VIDEO;
}

static int open_encoder(struct making *m)
{
	const AVCodec *codec = avcodec_find_encoder_by_name(m->clip->codec);
	int r;

	if (!codec)
		return -ENOTSUP;
	m->encoder = avcodec_alloc_context3(codec);
	m->frame = av_frame_alloc();
	m->packet = av_packet_alloc();
	if (!m->encoder || !m->frame || !m->packet)
		return -ENOMEM;
	if (is_video(m))
		set_video(m);
	else
		set_audio(m);
	if (m->format->oformat->flags & AVFMT_GLOBALHEADER)
		m->encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
	r = avcodec_open2(m->encoder, codec, NULL);
	if (r < 0)
		return errno_of(r);
	if (!is_video(m))
		m->frame->nb_samples = m->encoder->frame_size ?
					       m->encoder->frame_size :
					       PCM_FRAME;
	r = av_frame_get_buffer(m->frame, 0);
	return r < 0 ? errno_of(r) : 0;
}

/* Tables at the front: a file that is cut off can be told by them. */
static int write_header(struct making *m)
{
	AVDictionary *options = NULL;
	int r = av_dict_set(&options, "movflags", "+faststart", 0);

	if (r >= 0)
		r = avformat_write_header(m->format, &options);
	av_dict_free(&options);
	return r;
}

static int open_file(struct making *m)
{
	int r;

	m->stream = avformat_new_stream(m->format, NULL);
	if (!m->stream)
		return -ENOMEM;
	m->stream->time_base = m->encoder->time_base;
	m->stream->avg_frame_rate = m->encoder->framerate;
	r = avcodec_parameters_from_context(m->stream->codecpar, m->encoder);
	if (r >= 0)
		r = avio_open(&m->format->pb, m->clip->path, AVIO_FLAG_WRITE);
	if (r >= 0)
		r = write_header(m);
	return r < 0 ? errno_of(r) : 0;
}

/* One frame into the encoder (NULL: the end), its packets into the file. */
static int encode(struct making *m, const AVFrame *frame)
{
	int r = avcodec_send_frame(m->encoder, frame);

	while (r >= 0) {
		r = avcodec_receive_packet(m->encoder, m->packet);
		if (r < 0)
			break;
		av_packet_rescale_ts(m->packet, m->encoder->time_base,
				     m->stream->time_base);
		m->packet->stream_index = m->stream->index;
		r = av_interleaved_write_frame(m->format, m->packet);
	}
	if (r == AVERROR(EAGAIN) || r == AVERROR_EOF)
		return 0;
	return errno_of(r);
}

static int encode_all(struct making *m)
{
	int64_t end = (int64_t)m->clip->seconds *
		      (is_video(m) ? m->clip->fps : SAMPLE_RATE);
	int r = 0;

	while (r == 0 && m->at < end) {
		if (av_frame_make_writable(m->frame) < 0)
			return -ENOMEM;
		m->frame->pts = m->at;
		m->at += is_video(m) ? draw(m) : sing(m);
		r = encode(m, m->frame);
	}
	if (r == 0)
		r = encode(m, NULL);
	return r;
}

int clip_make(const struct clip *clip)
{
	CLEANUP(making_release)
	struct making m = { .clip = clip, .noise = 2463534242U };
	int r = avformat_alloc_output_context2(&m.format, NULL, NULL,
					       clip->path);
	if (r < 0)
		return errno_of(r);
	r = open_encoder(&m);
	if (r == 0)
		r = open_file(&m);
	if (r == 0)
		r = encode_all(&m);
	if (r < 0)
		return r;
	r = av_write_trailer(m.format);
	return r < 0 ? errno_of(r) : 0;
}
