/* clip.h - small videos and sounds for tests and benchmarks.
 *
 * Made with libavcodec itself, so that no file has to lie in the tree and a
 * benchmark gets the size it asks for.  Frames differ from one another and hold
 * noise: a decoder that mixes two up, or loses a byte, is seen. */
#ifndef ROAR_TOOLS_CLIP_H
#define ROAR_TOOLS_CLIP_H

#include <stdint.h>

struct clip {
	const char *path; /* its ending chooses the container */
	const char *codec; /* an encoder of FFmpeg: libx264, aac... */
	int width; /* video */
	int height;
	int fps;
	int seconds;
	int b_frames; /* in a row at most; they leave the order of time */
	uint64_t size_bytes; /* of all packets, filled up to it; 0: as it comes */
};

/* Writes the file.  A negative errno; -ENOTSUP when FFmpeg has no such encoder. */
int clip_make(const struct clip *clip);

#endif
