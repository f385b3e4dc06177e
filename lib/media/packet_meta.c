/* packet_meta.c - see packet_meta.h */
#include "media/packet_meta.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "media/codec_params.h"
#include "media/media_wire.h"

enum {
	VERSION = 1,
	PACKET_LEN = 48,
	/* Neither may be as large as to make sums of sizes overflow. */
	MAX_DATA = INT32_MAX - MEDIA_PADDING,
	MAX_SIDE_DATA = INT32_MAX - MEDIA_PADDING,
};

static const char magic[8] = { 'r', 'o', 'a', 'r', '-', 'p', 'k', 't' };

/* ---- writing ---- */

static void put_ratio(struct str *out, AVRational ratio)
{
	wire_put32(out, (uint32_t)ratio.num);
	wire_put32(out, (uint32_t)ratio.den);
}

static void put_header(struct str *out, const struct media_packets *p,
		       uint32_t n_buffers)
{
	const AVChannelLayout *layout = &p->params->ch_layout;
	bool native = layout->order == AV_CHANNEL_ORDER_NATIVE;

	str_add(out, magic, sizeof(magic));
	wire_put16(out, VERSION);
	wire_put16(out, LIBAVCODEC_VERSION_MAJOR);
	wire_put32(out, p->kind);
	wire_put32(out, (uint32_t)p->n_packets);
	wire_put32(out, n_buffers);
	put_ratio(out, p->time_base);
	put_ratio(out, p->frame_rate);
	wire_put64(out, (uint64_t)p->params->bit_rate);
	wire_put64(out, native ? layout->u.mask : 0);
	wire_put32(out, (uint32_t)layout->nb_channels);
	wire_put32(out, (uint32_t)p->params->extradata_size);
	wire_put32(out, (uint32_t)p->params->codec_id);
	for (size_t i = 0; i < MEDIA_N_FIELDS; i++)
		wire_put32(out, (uint32_t)media_field_get(&media_fields[i],
							  p->params));
	str_add(out, p->params->extradata, (size_t)p->params->extradata_size);
}

static void put_packet(struct str *out, const AVPacket *packet,
		       const struct media_place *place)
{
	wire_put64(out, (uint64_t)packet->pts);
	wire_put64(out, (uint64_t)packet->dts);
	wire_put64(out, (uint64_t)packet->duration);
	wire_put32(out, (uint32_t)packet->flags);
	wire_put32(out, place->size_bytes);
	wire_put32(out, place->buffer);
	wire_put32(out, (uint32_t)packet->side_data_elems);
	wire_put64(out, place->offset);
	for (int i = 0; i < packet->side_data_elems; i++) {
		const AVPacketSideData *side = &packet->side_data[i];

		wire_put32(out, (uint32_t)side->type);
		wire_put32(out, (uint32_t)side->size);
		str_add(out, side->data, side->size);
	}
}

int media_meta_write(const struct media_packets *p,
		     const struct media_place *places, uint32_t n_buffers,
		     struct str *out)
{
	put_header(out, p, n_buffers);
	for (size_t i = 0; i < p->n_packets; i++)
		put_packet(out, p->packets[i], &places[i]);
	return str_error(out);
}

/* ---- reading ---- */

static int damaged(struct roar_error *err, const char *what)
{
	return error_set(err, -EBADMSG,
			 "the description of packets is damaged (%s), make it "
			 "again from the packets",
			 what);
}

static int get_version(struct wire *w, struct roar_error *err)
{
	const uint8_t *start = wire_take(w, sizeof(magic));
	unsigned version = wire_get16(w);
	unsigned major = wire_get16(w);

	if (!start || memcmp(start, magic, sizeof(magic)) != 0 || w->short_of)
		return error_set(err, -EBADMSG,
				 "these bytes are not a description of "
				 "packets, give what to_buffers() returned");
	if (version != VERSION)
		return error_set(err, -EPROTO,
				 "the description of packets is of version %u "
				 "and this roar reads %d, use one roar on both "
				 "sides",
				 version, VERSION);
	if (major != LIBAVCODEC_VERSION_MAJOR)
		return error_set(err, -EPROTO,
				 "the packets are of libavcodec %u and here is "
				 "%d, use one FFmpeg on both sides",
				 major, LIBAVCODEC_VERSION_MAJOR);
	return 0;
}

static AVRational get_ratio(struct wire *w)
{
	AVRational ratio;

	ratio.num = (int32_t)wire_get32(w);
	ratio.den = (int32_t)wire_get32(w);
	return ratio;
}

/* Channels: of a native order by their mask, otherwise by their number. */
static bool get_layout(uint64_t mask, uint32_t n, AVChannelLayout *ret)
{
	if (n > MEDIA_MAX_CHANNELS)
		return false;
	if (mask)
		return av_channel_layout_from_mask(ret, mask) == 0 &&
		       (uint32_t)ret->nb_channels == n;
	*ret = (AVChannelLayout){ .order = AV_CHANNEL_ORDER_UNSPEC,
				  .nb_channels = (int)n };
	return true;
}

static int get_fields(struct wire *w, struct media_packets *p,
		      struct roar_error *err)
{
	uint32_t codec_id = wire_get32(w);

	if (!media_codec_fits(p->kind, codec_id))
		return damaged(err, "codec");
	p->params->codec_id = (enum AVCodecID)codec_id;
	for (size_t i = 0; i < MEDIA_N_FIELDS; i++) {
		const struct media_field *f = &media_fields[i];
		int32_t value = (int32_t)wire_get32(w);

		if (value < f->min || value > f->max)
			return damaged(err, f->name);
		media_field_set(f, p->params, value);
	}
	if (!media_format_fits(p->kind, p->params->format))
		return damaged(err, "format");
	return 0;
}

/* The rest of the header from its time base on, and the extradata. */
static int get_stream(struct wire *w, struct media_packets *p,
		      struct roar_error *err)
{
	p->time_base = get_ratio(w);
	p->frame_rate = get_ratio(w);
	p->params->bit_rate = (int64_t)wire_get64(w);

	uint64_t mask = wire_get64(w);
	uint32_t n_channels = wire_get32(w);
	uint32_t extradata_len = wire_get32(w);
	int r = get_fields(w, p, err);
	if (r < 0)
		return r;
	if (p->time_base.num <= 0 || p->time_base.den <= 0)
		return damaged(err, "time base");
	if (p->frame_rate.num < 0 || p->frame_rate.den < 0)
		return damaged(err, "frame rate");
	if (!get_layout(mask, n_channels, &p->params->ch_layout))
		return damaged(err, "channels");

	const uint8_t *extradata = wire_take(w, extradata_len);
	if (!extradata || extradata_len > MEDIA_MAX_EXTRADATA)
		return damaged(err, "extradata");
	return media_params_extradata(p->params, extradata, extradata_len);
}

static int get_side_data(struct wire *w, AVPacket *packet,
			 struct roar_error *err)
{
	uint32_t type = wire_get32(w);
	uint32_t len = wire_get32(w);
	const uint8_t *bytes = wire_take(w, len);

	if (!bytes || type >= AV_PKT_DATA_NB || len > MAX_SIDE_DATA ||
	    av_packet_get_side_data(packet, (enum AVPacketSideDataType)type,
				    NULL))
		return damaged(err, "side data");

	uint8_t *room = av_packet_new_side_data(
		packet, (enum AVPacketSideDataType)type, len);
	if (!room)
		return -ENOMEM;
	if (len)
		memcpy(room, bytes, len);
	return 0;
}

static bool place_fits(const struct media_place *place, uint32_t n_buffers)
{
	if (!place->size_bytes)
		return !place->buffer && !place->offset;
	return place->buffer < n_buffers && place->size_bytes <= MAX_DATA;
}

static int get_packet(struct wire *w, struct media_meta *m,
		      struct media_place *place, struct roar_error *err)
{
	CLEANUP(media_packet_freep) AVPacket *packet = av_packet_alloc();

	if (!packet)
		return -ENOMEM;
	packet->pts = (int64_t)wire_get64(w);
	packet->dts = (int64_t)wire_get64(w);
	packet->duration = (int64_t)wire_get64(w);
	packet->flags = (int)wire_get32(w);
	place->size_bytes = wire_get32(w);
	place->buffer = wire_get32(w);
	uint32_t n_side = wire_get32(w);
	place->offset = wire_get64(w);
	if (w->short_of)
		return damaged(err, "it is truncated");
	if (packet->flags & ~MEDIA_FLAGS)
		return damaged(err, "flags of a packet");
	if (!place_fits(place, m->n_buffers))
		return damaged(err, "place of a packet");

	/* Each type comes once, which bounds the number. */
	for (uint32_t i = 0; i < n_side; i++) {
		int r = get_side_data(w, packet, err);

		if (r < 0)
			return r;
	}
	packet->time_base = m->packets->time_base;
	return media_packets_add(m->packets, TAKE_PTR(packet));
}

static int get_packets(struct wire *w, struct media_meta *m, uint32_t n,
		       struct roar_error *err)
{
	if (n > MEDIA_MAX_PACKETS || n > w->left / PACKET_LEN)
		return damaged(err, "number of packets");
	m->places = calloc(n ? n : 1, sizeof(*m->places));
	if (!m->places)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		int r = get_packet(w, m, &m->places[i], err);

		if (r < 0)
			return r;
	}
	return w->left ? damaged(err, "more bytes than it needs") : 0;
}

static int read_all(struct wire *w, struct media_meta *m,
		    struct roar_error *err)
{
	int r = get_version(w, err);
	if (r < 0)
		return r;

	uint32_t kind = wire_get32(w);
	uint32_t n_packets = wire_get32(w);
	m->n_buffers = wire_get32(w);
	if (kind > MEDIA_AUDIO || m->n_buffers > MEDIA_MAX_PACKETS)
		return damaged(err, "kind or number of buffers");

	r = media_packets_new((enum media_kind)kind, &m->packets);
	if (r < 0)
		return r;
	r = get_stream(w, m->packets, err);
	if (r < 0)
		return r;
	return get_packets(w, m, n_packets, err);
}

int media_meta_read(const void *meta, size_t len, struct media_meta *ret,
		    struct roar_error *err)
{
	CLEANUP(media_meta_release) struct media_meta m = { 0 };
	struct wire w = { .at = meta, .left = len };
	int r = read_all(&w, &m, err);

	if (r == -ENOMEM)
		return error_set(err, r, "out of memory");
	if (r < 0)
		return r;
	*ret = m;
	m = (struct media_meta){ 0 };
	return 0;
}

void media_meta_release(struct media_meta *m)
{
	media_packets_free(m->packets);
	free(m->places);
	*m = (struct media_meta){ 0 };
}
