/* decode.h - decodes a set of packets into one block of memory.
 *
 * Video becomes pixels, frame after frame without gaps: in a packed format of 8 bits (such
 * as rgb24), or in the decoder's format, plane after plane.  Audio becomes interleaved
 * samples.  Whatever a stream declares, the result has at most `max_bytes`.
 *
 * Packed pixels are identical, bit by bit, to those of the program ffmpeg and of PyAV,
 * because models are trained on them.  `accurate` interpolates the chroma of each pixel and
 * rounds exactly, which takes longer and gives other bytes. */
#ifndef ROAR_MEDIA_DECODE_H
#define ROAR_MEDIA_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "media/packets.h"

struct roar_error;

struct media_decode_options {
	/* Of video; AV_PIX_FMT_NONE: the decoder's. */
	enum AVPixelFormat pixels;
	bool accurate; /* exact chroma and rounding, not FFmpeg's bytes */
	int n_threads; /* of the decoder; 0: one per CPU */
	uint64_t max_bytes; /* of the result */
};

struct media_frames {
	uint8_t *data; /* malloc()ed */
	size_t len;
	size_t cap; /* bytes allocated */
	size_t n; /* frames; of audio: samples per channel */
	size_t unit_bytes; /* of one frame, or one sample of all channels */
	int width; /* video */
	int height;
	int n_channels; /* audio */
	int sample_rate; /* audio, per second */
	int format; /* pixels, or packed samples */
};

/* The number of components of a packed format that can be requested; 0: not supported. */
int media_pixel_components(enum AVPixelFormat format);

/* Decodes all packets.  -EBADMSG: the decoder refuses a packet, or the stream changes its
 * shape; -ENOTSUP: there is no decoder; -EFBIG: more than max_bytes; -ENODATA: no frame was
 * decoded; -ENOMEM. */
int media_decode(const struct media_packets *p,
		 const struct media_decode_options *options,
		 struct media_frames *ret, struct roar_error *err);
void media_frames_release(struct media_frames *frames);

#endif
