/* codec_params.h - the fields of AVCodecParameters that are transferred, and their bounds.
 *
 * Decoders trust many of these numbers, so a number from outside is accepted only within
 * its range.  One from a demuxer is replaced by the harmless value of its row; one in a
 * description of packets (packet_meta.h) makes the whole description invalid. */
#ifndef ROAR_MEDIA_CODEC_PARAMS_H
#define ROAR_MEDIA_CODEC_PARAMS_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "media/packets.h"

struct media_field {
	const char *name;
	size_t offset; /* in AVCodecParameters, of 32 bits */
	int32_t min;
	int32_t max;
	int32_t otherwise; /* used instead of a value out of range */
};

enum {
	MEDIA_N_FIELDS = 23,
	MEDIA_MAX_SIDE = 65535, /* width and height */
	MEDIA_MAX_CHANNELS = 1024,
	MEDIA_MAX_EXTRADATA = 1 << 26, /* covers fonts in a header, and more */
};

extern const struct media_field media_fields[MEDIA_N_FIELDS];

int32_t media_field_get(const struct media_field *f,
			const AVCodecParameters *params);
void media_field_set(const struct media_field *f, AVCodecParameters *params,
		     int32_t value);

/* Is it a codec of this kind that decodes bytes? */
bool media_codec_fits(enum media_kind kind, uint32_t codec_id);

/* Is it a pixel or sample format?  -1 is accepted: not known yet. */
bool media_format_fits(enum media_kind kind, int32_t format);

/* Copies a demuxer's parameters, limited to their bounds.  -EINVAL: not a codec of this
 * kind; -ENOMEM. */
int media_params_take(enum media_kind kind, const AVCodecParameters *from,
		      AVCodecParameters *to);

/* Sets extradata to a copy of `len` bytes, with zero padding.  -ENOMEM. */
int media_params_extradata(AVCodecParameters *params, const void *data,
			   size_t len);

#endif
