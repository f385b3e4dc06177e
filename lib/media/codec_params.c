/* codec_params.c - see codec_params.h */
#include "media/codec_params.h"

#include <assert.h>
#include <errno.h>
#include <libavutil/pixdesc.h>
#include <limits.h>
#include <string.h>

/* Of profiles and levels; FFmpeg's own name for it depends on its version. */
enum { UNKNOWN = -99 };

#define FIELD(member, low, high, other)                                      \
	{                                                                    \
		.name = #member,                                             \
		.offset = offsetof(AVCodecParameters, member), .min = (low), \
		.max = (high), .otherwise = (other)                          \
	}

/* The codec and the format have ranges of their own kind; the rest is here. */
const struct media_field media_fields[MEDIA_N_FIELDS] = {
	FIELD(codec_tag, INT32_MIN, INT32_MAX, 0),
	FIELD(format, -1, INT32_MAX, -1),
	FIELD(bits_per_coded_sample, 0, 256, 0),
	FIELD(bits_per_raw_sample, 0, 256, 0),
	FIELD(profile, INT32_MIN, INT32_MAX, UNKNOWN),
	FIELD(level, INT32_MIN, INT32_MAX, UNKNOWN),
	FIELD(width, 0, MEDIA_MAX_SIDE, 0),
	FIELD(height, 0, MEDIA_MAX_SIDE, 0),
	FIELD(sample_aspect_ratio.num, 0, INT32_MAX, 0),
	FIELD(sample_aspect_ratio.den, 0, INT32_MAX, 1),
	FIELD(field_order, 0, AV_FIELD_BT, AV_FIELD_UNKNOWN),
	FIELD(color_range, 0, AVCOL_RANGE_NB - 1, 0),
	FIELD(color_primaries, 0, AVCOL_PRI_NB - 1, AVCOL_PRI_UNSPECIFIED),
	FIELD(color_trc, 0, AVCOL_TRC_NB - 1, AVCOL_TRC_UNSPECIFIED),
	FIELD(color_space, 0, AVCOL_SPC_NB - 1, AVCOL_SPC_UNSPECIFIED),
	FIELD(chroma_location, 0, AVCHROMA_LOC_NB - 1, 0),
	FIELD(video_delay, 0, 64, 0),
	FIELD(sample_rate, 0, INT32_MAX, 0),
	FIELD(block_align, 0, INT32_MAX, 0),
	FIELD(frame_size, 0, INT32_MAX, 0),
	FIELD(initial_padding, 0, INT32_MAX, 0),
	FIELD(trailing_padding, 0, INT32_MAX, 0),
	FIELD(seek_preroll, 0, INT32_MAX, 0),
};

static_assert(sizeof(enum AVColorSpace) == sizeof(int32_t),
	      "FFmpeg's enums are numbers of 32 bits");

int32_t media_field_get(const struct media_field *f,
			const AVCodecParameters *params)
{
	int32_t value;

	memcpy(&value, (const char *)params + f->offset, sizeof(value));
	return value;
}

void media_field_set(const struct media_field *f, AVCodecParameters *params,
		     int32_t value)
{
	memcpy((char *)params + f->offset, &value, sizeof(value));
}

bool media_codec_fits(enum media_kind kind, uint32_t codec_id)
{
	/* The packets of this one are pointers to frames. */
	if (codec_id == AV_CODEC_ID_WRAPPED_AVFRAME || codec_id > INT_MAX)
		return false;
	return codec_id != AV_CODEC_ID_NONE &&
	       avcodec_get_type((enum AVCodecID)codec_id) == media_type(kind);
}

bool media_format_fits(enum media_kind kind, int32_t format)
{
	if (format == -1)
		return true;
	if (kind == MEDIA_AUDIO)
		return format >= 0 && format < AV_SAMPLE_FMT_NB;
	return format >= 0 && av_pix_fmt_desc_get((enum AVPixelFormat)format);
}

int media_params_extradata(AVCodecParameters *params, const void *data,
			   size_t len)
{
	uint8_t *copy = NULL;

	if (len) {
		copy = av_mallocz(len + MEDIA_PADDING);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, data, len);
	}
	av_freep(&params->extradata);
	params->extradata = copy;
	params->extradata_size = (int)len;
	return 0;
}

/* A layout that is a list of channels is carried as their number: what is in the
 * bytes is known to the decoder, which says it again. */
static int take_layout(const AVChannelLayout *from, AVChannelLayout *to)
{
	int n = from->nb_channels;

	if (n < 0 || n > MEDIA_MAX_CHANNELS)
		n = 0;
	if (from->order == AV_CHANNEL_ORDER_NATIVE &&
	    av_channel_layout_check(from))
		return av_channel_layout_copy(to, from) < 0 ? -ENOMEM : 0;
	*to = (AVChannelLayout){ .order = AV_CHANNEL_ORDER_UNSPEC,
				 .nb_channels = n };
	return 0;
}

int media_params_take(enum media_kind kind, const AVCodecParameters *from,
		      AVCodecParameters *to)
{
	if (!media_codec_fits(kind, (uint32_t)from->codec_id) ||
	    from->extradata_size > MEDIA_MAX_EXTRADATA)
		return -EINVAL;
	to->codec_id = from->codec_id;
	to->bit_rate = from->bit_rate;
	for (size_t i = 0; i < MEDIA_N_FIELDS; i++) {
		const struct media_field *f = &media_fields[i];
		int32_t value = media_field_get(f, from);

		if (value < f->min || value > f->max)
			value = f->otherwise;
		media_field_set(f, to, value);
	}
	if (!media_format_fits(kind, to->format))
		to->format = -1;

	int r = take_layout(&from->ch_layout, &to->ch_layout);
	if (r < 0)
		return r;
	return media_params_extradata(
		to, from->extradata,
		from->extradata_size > 0 ? (size_t)from->extradata_size : 0);
}
