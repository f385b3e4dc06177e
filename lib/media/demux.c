/* demux.c - see demux.h */
#include "media/demux.h"

#include <errno.h>
#include <libavformat/avformat.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "media/averror.h"
#include "media/codec_params.h"
#include "media/media_probe.h"

struct demux {
	struct media_source *source;
	const char *name;
	struct roar_error *err;
	AVFormatContext *format;
	AVStream *stream;
	struct media_packets *packets;
	uint64_t max_bytes; /* of all packets */
	uint64_t bytes; /* so far */
	bool only_header; /* nothing was decoded to know the stream */
	bool refers; /* it wanted to open something else */
};

static void demux_release(struct demux *d)
{
	avformat_close_input(&d->format);
	media_packets_free(d->packets);
}

/* The sentence for what FFmpeg could not do. */
static int failed(const struct demux *d, const char *what, int r)
{
	if (d->source->error)
		return error_set(d->err, d->source->error,
				 "%s cannot be read: %s", d->name,
				 strerror(-d->source->error));
	if (d->refers)
		return error_set(d->err, -EBADMSG,
				 "%s refers to other files, which are not "
				 "opened, give those files",
				 d->name);
	return error_set(d->err, -EBADMSG,
			 "%s %s (%s), give a whole media file", d->name, what,
			 averror_text(r).text);
}

/* Playlists and the like: nothing else is opened. */
static int refuse_open(AVFormatContext *format, AVIOContext **io,
		       const char *url, int flags, AVDictionary **options)
{
	struct demux *d = format->opaque;

	(void)io;
	(void)url;
	(void)flags;
	(void)options;
	if (d) /* a context inside another may have taken only the function */
		d->refers = true;
	return AVERROR(EPERM);
}

static int open_format(struct demux *d, enum media_kind kind)
{
	AVDictionary *options = NULL;
	int r;

	d->format = avformat_alloc_context();
	if (!d->format)
		return error_set(d->err, -ENOMEM, "out of memory");
	d->format->pb = d->source->io;
	d->format->io_open = refuse_open;
	d->format->opaque = d;
	/* Demuxers that open others hand this list on: no protocol is in it.  Some
	 * need a name, whatever it is. */
	r = av_dict_set(&options, "protocol_whitelist", "none", 0);
	if (r >= 0)
		r = avformat_open_input(&d->format, "media", NULL, &options);
	av_dict_free(&options);
	if (r < 0)
		return failed(d, "is not a media file that FFmpeg knows", r);
	d->only_header = probe_header_suffices(d->format, kind);
	if (d->only_header)
		return 0;
	r = avformat_find_stream_info(d->format, NULL);
	return r < 0 ? failed(d, "does not describe its streams", r) : 0;
}

static int no_stream(struct demux *d, enum media_kind kind)
{
	return error_set(d->err, -ENODATA,
			 "%s has no %s stream among its %u, ask for another "
			 "kind or file",
			 d->name, media_kind_name(kind), d->format->nb_streams);
}

/* The others are not even read where the format allows that. */
static int choose_stream(struct demux *d, enum media_kind kind)
{
	int best = av_find_best_stream(d->format, media_type(kind), -1, -1,
				       NULL, 0);
	if (best < 0)
		return no_stream(d, kind);
	d->stream = d->format->streams[best];
	for (unsigned i = 0; i < d->format->nb_streams; i++)
		if (i != (unsigned)best)
			d->format->streams[i]->discard = AVDISCARD_ALL;

	int r = media_packets_new(kind, &d->packets);
	if (r == 0)
		r = media_params_take(kind, d->stream->codecpar,
				      d->packets->params);
	if (r == -EINVAL)
		return error_set(d->err, -EBADMSG,
				 "%s has a %s stream of a codec that FFmpeg "
				 "does not know, convert it first",
				 d->name, media_kind_name(kind));
	if (r < 0)
		return error_set(d->err, r, "out of memory");
	return 0;
}

static AVRational positive(AVRational ratio)
{
	return ratio.num > 0 && ratio.den > 0 ? ratio : (AVRational){ 0, 0 };
}

static int take_times(struct demux *d)
{
	d->packets->time_base = positive(d->stream->time_base);
	d->packets->frame_rate = positive(d->stream->avg_frame_rate);
	if (!d->packets->time_base.num)
		return error_set(d->err, -EBADMSG,
				 "%s does not give the unit of its timestamps, "
				 "is it damaged?",
				 d->name);
	return 0;
}

/* Has the packet its own counted memory with zeros behind the data?  Parsers give out
 * pieces of a larger one. */
static bool is_padded(const AVPacket *packet)
{
	static const uint8_t zeros[MEDIA_PADDING];
	const AVBufferRef *buf = packet->buf;

	if (!buf || packet->data < buf->data)
		return false;

	size_t before = (size_t)(packet->data - buf->data);
	if (before > buf->size ||
	    buf->size - before < (size_t)packet->size + MEDIA_PADDING)
		return false;
	return memcmp(packet->data + packet->size, zeros, MEDIA_PADDING) == 0;
}

static int make_padded(AVPacket *packet)
{
	AVBufferRef *buf;

	if (!packet->size) {
		av_buffer_unref(&packet->buf);
		packet->data = NULL;
		return 0;
	}
	if (is_padded(packet))
		return 0;
	buf = av_buffer_alloc((size_t)packet->size + MEDIA_PADDING);
	if (!buf)
		return -ENOMEM;
	memcpy(buf->data, packet->data, (size_t)packet->size);
	memset(buf->data + packet->size, 0, MEDIA_PADDING);
	av_buffer_unref(&packet->buf);
	packet->buf = buf;
	packet->data = buf->data;
	return 0;
}

static int keep(struct demux *d, AVPacket *read)
{
	CLEANUP(media_packet_freep) AVPacket *packet = NULL;
	int r;

	d->bytes += (uint64_t)read->size;
	if (d->bytes > d->max_bytes ||
	    d->packets->n_packets == MEDIA_MAX_PACKETS)
		return error_set(d->err, -EFBIG,
				 "%s declares more packets than a file of its "
				 "size has, it is damaged",
				 d->name);
	packet = av_packet_alloc();
	if (!packet)
		return error_set(d->err, -ENOMEM, "out of memory");
	av_packet_move_ref(packet, read);
	packet->flags &= MEDIA_FLAGS;
	packet->time_base = d->packets->time_base;
	r = make_padded(packet);
	if (r == 0)
		r = media_packets_add(d->packets, TAKE_PTR(packet));
	if (r < 0)
		return error_set(d->err, r, "out of memory");
	return 0;
}

static int read_packets(struct demux *d)
{
	CLEANUP(media_packet_freep) AVPacket *packet = av_packet_alloc();
	int r;

	if (!packet)
		return error_set(d->err, -ENOMEM, "out of memory");
	while ((r = av_read_frame(d->format, packet)) >= 0) {
		int kept = 0;

		if (packet->stream_index == d->stream->index)
			kept = keep(d, packet);
		av_packet_unref(packet);
		if (kept < 0)
			return kept;
	}
	if (r != AVERROR_EOF || d->source->error)
		return failed(d, "is damaged", r);
	return 0;
}

/* A file with an index says how long it should be. */
static int check_whole(const struct demux *d)
{
	int n = avformat_index_get_entries_count(d->stream);

	for (int i = 0; i < n; i++) {
		const AVIndexEntry *e = avformat_index_get_entry(d->stream, i);

		if (e && e->pos > d->source->size_bytes - e->size)
			return error_set(
				d->err, -EBADMSG,
				"%s is truncated: it has %lld bytes and frame "
				"%d of %d ends at %lld, fetch it again",
				d->name, (long long)d->source->size_bytes,
				i + 1, n, (long long)(e->pos + e->size));
	}
	if (!d->packets->n_packets)
		return error_set(d->err, -ENODATA,
				 "%s has no packet in its %s stream, is it "
				 "truncated?",
				 d->name, media_kind_name(d->packets->kind));
	return 0;
}

int media_demux(struct media_source *source, const char *name,
		enum media_kind kind, struct media_packets **ret,
		struct roar_error *err)
{
	/* Compressed containers may hold a little more than their size. */
	CLEANUP(demux_release)
	struct demux d = { .source = source,
			   .name = name,
			   .err = err,
			   .max_bytes = 8 * (uint64_t)source->size_bytes +
					(1 << 20) };
	int r = open_format(&d, kind);

	if (r == 0)
		r = choose_stream(&d, kind);
	if (r == 0)
		r = take_times(&d);
	if (r == 0)
		r = read_packets(&d);
	if (r == 0)
		r = check_whole(&d);
	if (r < 0)
		return r;
	if (d.only_header)
		probe_packets(d.packets);
	*ret = TAKE_PTR(d.packets);
	return 0;
}
