/* averror.h - FFmpeg's error numbers in words.
 *
 * All of them become -EBADMSG where FFmpeg looked at somebody's bytes, AVERROR(ENOMEM)
 * too: it is what sizes give that no machine has. */
#ifndef ROAR_MEDIA_AVERROR_H
#define ROAR_MEDIA_AVERROR_H

#include <libavutil/error.h>

struct averror_text {
	char text[AV_ERROR_MAX_STRING_SIZE];
};

static inline struct averror_text averror_text(int r)
{
	struct averror_text t = { "" };

	(void)av_strerror(r, t.text, sizeof(t.text));
	return t;
}

#endif
