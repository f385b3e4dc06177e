/* averror.h - messages for FFmpeg's error codes.
 *
 * Where FFmpeg parsed untrusted bytes, all codes become -EBADMSG, AVERROR(ENOMEM) included:
 * impossible sizes in a file lead to it. */
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
