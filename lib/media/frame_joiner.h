/* frame_joiner.h - joins decoded frames; used by decode.c only. */
#ifndef ROAR_MEDIA_FRAME_JOINER_H
#define ROAR_MEDIA_FRAME_JOINER_H

#include <libavutil/frame.h>
#include <libswscale/swscale.h>

#include "media/decode.h"

struct roar_error;

struct frames {
	const struct media_decode_options *options;
	struct media_frames out;
	struct SwsContext *scaler; /* created when a frame needs it */
	AVFrame *padded; /* likewise; a copy with padded rows */
	int source_format; /* of the first frame; -1: none yet */
};

#define FRAMES_INIT(o) ((struct frames){ .options = (o), .source_format = -1 })

/* Appends a frame.  -EBADMSG: its shape differs from that of the first frame; -EFBIG,
 * -ENOTSUP, -ENOMEM. */
int frames_add(struct frames *f, const AVFrame *frame, struct roar_error *err);

/* Moves the result to *ret; -ENODATA: there is none. */
int frames_take(struct frames *f, struct media_frames *ret,
		struct roar_error *err);
void frames_release(struct frames *f);

#endif
