/* decode.h - frames of a set of packets, in one block of memory.
 *
 * Video becomes pixels, frame after frame without gaps: in a packed format of 8 bits
 * (rgb24 and its like), or as the decoder gives them, plane after plane.  Audio
 * becomes samples, all channels of one moment side by side.  Whatever a
 * stream declares, no more than `max_bytes` are made of it.
 *
 * Packed pixels are those that the program ffmpeg and PyAV make of the stream, bit by
 * bit: models are trained on them.  `accurate` interpolates the chroma of each pixel
 * and rounds exactly, which takes longer and gives other bytes. */
#ifndef ROAR_MEDIA_DECODE_H
#define ROAR_MEDIA_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "media/packets.h"

struct roar_error;

struct media_decode_options {
	enum AVPixelFormat pixels; /* of video; AV_PIX_FMT_NONE: its own */
	bool accurate; /* exact chroma and rounding, not FFmpeg's bytes */
	int n_threads; /* of the decoder; 0: one per CPU */
	uint64_t max_bytes; /* of the result */
};

struct media_frames {
	uint8_t *data; /* malloc()ed */
	size_t len;
	size_t cap; /* bytes allocated */
	size_t n; /* frames; of audio: moments */
	size_t unit_bytes; /* of one frame or moment */
	int width; /* video */
	int height;
	int n_channels; /* audio */
	int sample_rate; /* audio, per second */
	int format; /* pixels, or packed samples */
};

/* How many components a packed format has that video may be asked for; 0: none. */
int media_pixel_components(enum AVPixelFormat format);

/* Decodes all of it.  -EBADMSG for packets that the decoder refuses and for streams that
 * change their shape on the way, -ENOTSUP without a decoder, -EFBIG over
 * max_bytes, -ENODATA when not one frame came, -ENOMEM. */
int media_decode(const struct media_packets *p,
		 const struct media_decode_options *options,
		 struct media_frames *ret, struct roar_error *err);
void media_frames_release(struct media_frames *frames);

#endif
