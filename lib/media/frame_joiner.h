/* frame_joiner.h - decoded frames, joined as they come; inside of decode.h. */
#ifndef ROAR_MEDIA_FRAME_JOINER_H
#define ROAR_MEDIA_FRAME_JOINER_H

#include <libavutil/frame.h>
#include <libswscale/swscale.h>

#include "media/decode.h"

struct roar_error;

struct frames {
	const struct media_decode_options *options;
	struct media_frames out;
	struct SwsContext *scaler; /* made when a frame needs it */
	AVFrame *padded; /* likewise; on the way to rows without gaps */
	int source_format; /* of the first frame; -1: none yet */
};

#define FRAMES_INIT(o) ((struct frames){ .options = (o), .source_format = -1 })

/* Appends a frame.  -EBADMSG when it has not the shape of those before, -EFBIG, -ENOTSUP,
 * -ENOMEM. */
int frames_add(struct frames *f, const AVFrame *frame, struct roar_error *err);

/* Hands the result over; -ENODATA when there is none. */
int frames_take(struct frames *f, struct media_frames *ret,
		struct roar_error *err);
void frames_release(struct frames *f);

#endif
