/* frame_joiner.c - see frame_joiner.h */
#include "media/frame_joiner.h"

#include <assert.h>
#include <errno.h>
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/macros.h"

/* Pixels that the widest loop of swscale takes at a time. */
enum { WHOLE_BLOCKS = 32 };

static const struct {
	enum AVPixelFormat format;
	int n_components;
} packed_formats[] = {
	{ AV_PIX_FMT_RGB24, 3 },
	{ AV_PIX_FMT_BGR24, 3 },
	{ AV_PIX_FMT_RGBA, 4 },
	{ AV_PIX_FMT_GRAY8, 1 },
};

int media_pixel_components(enum AVPixelFormat format)
{
	for (size_t i = 0; i < ARRAY_SIZE(packed_formats); i++)
		if (packed_formats[i].format == format)
			return packed_formats[i].n_components;
	return 0;
}

void media_frames_release(struct media_frames *frames)
{
	free(frames->data);
	*frames = (struct media_frames){ 0 };
}

void frames_release(struct frames *f)
{
	sws_freeContext(f->scaler);
	av_frame_free(&f->padded);
	media_frames_release(&f->out);
}

/* Room for `n` more units; the memory doubles, so that it is moved seldom, and where it is
 * large the kernel moves it without a copy. */
static int grow(struct frames *f, size_t n, struct roar_error *err)
{
	struct media_frames *out = &f->out;
	uint64_t max = f->options->max_bytes;
	uint64_t need;

	if (__builtin_mul_overflow((uint64_t)n, out->unit_bytes, &need) ||
	    __builtin_add_overflow(need, out->len, &need) || need > max)
		return error_set(err, -EFBIG,
				 "the decoded frames take more than %llu bytes, "
				 "decode fewer packets or raise max_bytes",
				 (unsigned long long)max);
	if (need <= out->cap)
		return 0;

	uint64_t cap = 2 * (uint64_t)out->cap;
	if (cap > max)
		cap = max;
	if (cap < need)
		cap = need;
	uint8_t *data = realloc(out->data, (size_t)cap);
	if (!data)
		return error_set(err, -ENOMEM, "out of memory");
	out->data = data;
	out->cap = (size_t)cap;
	return 0;
}

/* ---- video ---- */

static int begin_video(struct frames *f, const AVFrame *frame,
		       struct roar_error *err)
{
	enum AVPixelFormat to = f->options->pixels;
	int bytes;

	if (to == AV_PIX_FMT_NONE)
		to = (enum AVPixelFormat)frame->format;
	bytes = av_image_get_buffer_size(to, frame->width, frame->height, 1);
	if (bytes <= 0)
		return error_set(err, -ENOTSUP,
				 "frames of %dx%d in the format %s cannot be "
				 "laid out, ask for rgb24",
				 frame->width, frame->height,
				 av_get_pix_fmt_name(to));
	f->source_format = frame->format;
	f->out.format = to;
	f->out.width = frame->width;
	f->out.height = frame->height;
	f->out.unit_bytes = (size_t)bytes;
	return 0;
}

static int check_video(const struct frames *f, const AVFrame *frame,
		       struct roar_error *err)
{
	if (frame->width == f->out.width && frame->height == f->out.height &&
	    frame->format == f->source_format)
		return 0;
	return error_set(
		err, -EBADMSG,
		"frame %zu is %dx%d %s and those before are %dx%d %s, "
		"decode such a stream in parts",
		f->out.n, frame->width, frame->height,
		av_get_pix_fmt_name((enum AVPixelFormat)frame->format),
		f->out.width, f->out.height,
		av_get_pix_fmt_name((enum AVPixelFormat)f->source_format));
}

/* Gives the scaler the colour space of the stream, as the scale filter that ffmpeg
 * inserts does.  By itself swscale takes every stream for BT.601.  Source and
 * destination get the same space: for two different ones swscale converts to gray
 * by way of RGB, which changes the luma. */
static void set_colour_space(struct SwsContext *scaler, const AVFrame *frame)
{
	int space = frame->colorspace == AVCOL_SPC_RGB ? SWS_CS_DEFAULT :
							 frame->colorspace;
	const int *table = sws_getCoefficients(space);
	int *old, from_full, to_full, brightness, contrast, saturation;

	if (sws_getColorspaceDetails(scaler, &old, &from_full, &old, &to_full,
				     &brightness, &contrast, &saturation) < 0)
		return; /* between these formats no colours are converted */
	(void)sws_setColorspaceDetails(scaler, table, from_full, table, to_full,
				       brightness, contrast, saturation);
}

/* The range must be known when the context is made: of more than 8 bits swscale
 * does not take another one later.  Bicubic alone is what ffmpeg and PyAV ask for.
 * At the same size nothing is scaled but chroma, and swscale has a fast way for that
 * which the other flags turn off. */
static struct SwsContext *new_scaler(const struct frames *f,
				     const AVFrame *frame)
{
	const struct {
		const char *name;
		int value;
	} options[] = {
		{ "srcw", frame->width },
		{ "srch", frame->height },
		{ "src_format", frame->format },
		{ "src_range", frame->color_range == AVCOL_RANGE_JPEG },
		{ "dstw", frame->width },
		{ "dsth", frame->height },
		{ "dst_format", f->out.format },
		{ "sws_flags",
		  f->options->accurate ?
			  SWS_BILINEAR | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT :
			  SWS_BICUBIC },
	};
	struct SwsContext *scaler = sws_alloc_context();
	int r = scaler ? 0 : AVERROR(ENOMEM);

	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(options); i++)
		r = av_opt_set_int(scaler, options[i].name, options[i].value,
				   0);
	if (r >= 0)
		r = sws_init_context(scaler, NULL, NULL);
	if (r < 0) {
		sws_freeContext(scaler);
		return NULL;
	}
	set_colour_space(scaler, frame);
	return scaler;
}

static int get_scaler(struct frames *f, const AVFrame *frame,
		      struct roar_error *err)
{
	if (f->scaler)
		return 0;
	f->scaler = new_scaler(f, frame);
	if (!f->scaler)
		return error_set(
			err, -ENOTSUP,
			"frames in the format %s cannot be converted to %s, "
			"ask for the native format",
			av_get_pix_fmt_name((enum AVPixelFormat)frame->format),
			av_get_pix_fmt_name((enum AVPixelFormat)f->out.format));
	return 0;
}

static int copy(const struct frames *f, const AVFrame *frame, uint8_t *to,
		struct roar_error *err)
{
	int r = av_image_copy_to_buffer(to, (int)f->out.unit_bytes,
					(const uint8_t *const *)frame->data,
					frame->linesize,
					(enum AVPixelFormat)frame->format,
					frame->width, frame->height, 1);

	if (r < 0)
		return error_set(err, -EBADMSG, "frame %zu cannot be laid out",
				 f->out.n);
	return 0;
}

static int scale(struct frames *f, const AVFrame *frame, uint8_t *planes[4],
		 int strides[4], struct roar_error *err)
{
	int r = sws_scale(f->scaler, (const uint8_t *const *)frame->data,
			  frame->linesize, 0, frame->height, planes, strides);

	if (r != frame->height)
		return error_set(
			err, -EBADMSG, "frame %zu cannot be converted to %s",
			f->out.n,
			av_get_pix_fmt_name((enum AVPixelFormat)f->out.format));
	return 0;
}

/* A frame whose rows have room behind them. */
static int get_padded(struct frames *f, const AVFrame *frame,
		      struct roar_error *err)
{
	if (f->padded)
		return 0;
	f->padded = av_frame_alloc();
	if (!f->padded)
		return error_set(err, -ENOMEM, "out of memory");
	f->padded->format = f->out.format;
	f->padded->width = frame->width;
	f->padded->height = frame->height;
	if (av_frame_get_buffer(f->padded, 64) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* swscale works on blocks of pixels.  Where rows follow each other without a gap, it leaves
 * out the last block of a row that is not whole; so such rows take a detour. */
static int convert(struct frames *f, const AVFrame *frame, uint8_t *to,
		   struct roar_error *err)
{
	uint8_t *planes[4] = { 0 };
	int strides[4] = { 0 };
	int r = get_scaler(f, frame, err);

	if (r < 0)
		return r;
	if (frame->width % WHOLE_BLOCKS == 0) {
		(void)av_image_fill_arrays(planes, strides, to,
					   (enum AVPixelFormat)f->out.format,
					   frame->width, frame->height, 1);
		return scale(f, frame, planes, strides, err);
	}
	r = get_padded(f, frame, err);
	if (r == 0)
		r = scale(f, frame, f->padded->data, f->padded->linesize, err);
	return r < 0 ? r : copy(f, f->padded, to, err);
}

static int add_video(struct frames *f, const AVFrame *frame,
		     struct roar_error *err)
{
	int r = f->source_format < 0 ? begin_video(f, frame, err) :
				       check_video(f, frame, err);
	if (r == 0)
		r = grow(f, 1, err);
	if (r < 0)
		return r;

	uint8_t *to = f->out.data + f->out.len;
	r = f->out.format == frame->format ? copy(f, frame, to, err) :
					     convert(f, frame, to, err);
	if (r < 0)
		return r;
	f->out.len += f->out.unit_bytes;
	f->out.n++;
	return 0;
}

/* ---- audio ---- */

static void begin_audio(struct frames *f, const AVFrame *frame)
{
	enum AVSampleFormat format = (enum AVSampleFormat)frame->format;

	f->source_format = frame->format;
	f->out.format = av_get_packed_sample_fmt(format);
	f->out.n_channels = frame->ch_layout.nb_channels;
	f->out.sample_rate = frame->sample_rate;
	f->out.unit_bytes = (size_t)av_get_bytes_per_sample(format) *
			    (size_t)f->out.n_channels;
}

static bool same_audio(const struct frames *f, const AVFrame *frame)
{
	return frame->format == f->source_format &&
	       frame->ch_layout.nb_channels == f->out.n_channels &&
	       frame->sample_rate == f->out.sample_rate;
}

/* One plane per channel becomes all channels of a moment side by side. */
static void interleave(const AVFrame *frame, size_t sample_bytes,
		       size_t unit_bytes, uint8_t *to)
{
	for (int c = 0; c < frame->ch_layout.nb_channels; c++) {
		const uint8_t *from = frame->extended_data[c];
		uint8_t *at = to + (size_t)c * sample_bytes;

		for (int i = 0; i < frame->nb_samples; i++) {
			memcpy(at, from, sample_bytes);
			from += sample_bytes;
			at += unit_bytes;
		}
	}
}

static int add_audio(struct frames *f, const AVFrame *frame,
		     struct roar_error *err)
{
	enum AVSampleFormat format = (enum AVSampleFormat)frame->format;
	size_t n = (size_t)frame->nb_samples;
	uint8_t *to;
	int r;

	if (f->source_format < 0)
		begin_audio(f, frame);
	if (!same_audio(f, frame) || !f->out.unit_bytes)
		return error_set(
			err, -EBADMSG,
			"the audio changes its rate, channels or format "
			"after %zu samples, decode it in parts",
			f->out.n);
	r = grow(f, n, err);
	if (r < 0)
		return r;
	to = f->out.data + f->out.len;
	if (av_sample_fmt_is_planar(format))
		interleave(frame, (size_t)av_get_bytes_per_sample(format),
			   f->out.unit_bytes, to);
	else
		memcpy(to, frame->data[0], n * f->out.unit_bytes);
	f->out.len += n * f->out.unit_bytes;
	f->out.n += n;
	return 0;
}

int frames_add(struct frames *f, const AVFrame *frame, struct roar_error *err)
{
	assert(frame);
	if (frame->nb_samples > 0)
		return add_audio(f, frame, err);
	return add_video(f, frame, err);
}

int frames_take(struct frames *f, struct media_frames *ret,
		struct roar_error *err)
{
	if (!f->out.n)
		return error_set(err, -ENODATA,
				 "the packets do not hold a whole frame, give "
				 "those from a key frame on");
	*ret = f->out;
	f->out = (struct media_frames){ 0 };
	return 0;
}
