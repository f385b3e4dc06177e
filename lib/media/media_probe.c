/* media_probe.c - see media_probe.h */
#include "media/media_probe.h"

#include <string.h>

#include "base/macros.h"
#include "media/codec_params.h"

enum {
	MAX_DELAY = 16, /* no codec has more */
	WINDOW = 2 * MAX_DELAY, /* so that older packets need no look */
};

/* Codecs of which it is known that tables and times are enough. */
static const enum AVCodecID known[] = {
	AV_CODEC_ID_H264,
	AV_CODEC_ID_HEVC,
	AV_CODEC_ID_VP9,
	AV_CODEC_ID_AV1,
};

static bool is_known(enum AVCodecID id)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i] == id)
			return true;
	return false;
}

/* A fragmented file has its tables in pieces along the way. */
static bool has_tables(const AVFormatContext *format, const AVStream *stream)
{
	return strncmp(format->iformat->name, "mov,mp4", 7) == 0 &&
	       avformat_index_get_entries_count(stream) > 0 &&
	       stream->nb_frames > 0;
}

bool probe_header_suffices(AVFormatContext *format, enum media_kind kind)
{
	int best = av_find_best_stream(format, media_type(kind), -1, -1, NULL,
				       0);
	if (kind != MEDIA_VIDEO || best < 0)
		return false;

	const AVStream *stream = format->streams[best];
	const AVCodecParameters *params = stream->codecpar;
	return has_tables(format, stream) && is_known(params->codec_id) &&
	       params->width > 0 && params->height > 0 &&
	       params->extradata_size > 0 && stream->avg_frame_rate.num > 0;
}

static void context_freep(AVCodecContext **context)
{
	avcodec_free_context(context);
}

static void parser_closep(AVCodecParserContext **parser)
{
	if (*parser)
		av_parser_close(*parser);
}

/* As the headers in the parameters and in the first packet have it. */
static enum AVPixelFormat pixels_of(const struct media_packets *p)
{
	CLEANUP(context_freep)
	AVCodecContext *c = avcodec_alloc_context3(NULL);
	CLEANUP(parser_closep)
	AVCodecParserContext *parser = av_parser_init((int)p->params->codec_id);
	uint8_t *out = NULL;
	int len = 0;

	if (!c || !parser || !p->n_packets ||
	    avcodec_parameters_to_context(c, p->params) < 0)
		return AV_PIX_FMT_NONE;
	parser->flags |= PARSER_FLAG_COMPLETE_FRAMES;

	const AVPacket *first = p->packets[0];
	(void)av_parser_parse2(parser, c, &out, &len, first->data, first->size,
			       first->pts, first->dts, -1);
	if (!media_format_fits(p->kind, parser->format))
		return AV_PIX_FMT_NONE;
	return (enum AVPixelFormat)parser->format;
}

/* The most pictures that come before another one in decoding and after it in time: a
 * decoder that holds back as many never gives one out too early.  H.264 has
 * this number in its headers, if the encoder cared to write it. */
static int delay_of(const struct media_packets *p)
{
	int most = 0;

	for (size_t i = 0; i < p->n_packets; i++) {
		int later = 0;

		for (size_t k = i > WINDOW ? i - WINDOW : 0; k < i; k++)
			later += p->packets[k]->pts > p->packets[i]->pts;
		if (later > most)
			most = later;
	}
	return most < MAX_DELAY ? most : MAX_DELAY;
}

void probe_packets(struct media_packets *p)
{
	if (p->params->format < 0)
		p->params->format = pixels_of(p);
	p->params->video_delay = delay_of(p);
}
