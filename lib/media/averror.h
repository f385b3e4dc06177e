/* averror.h - FFmpeg's error numbers as ours, and in words. */
#ifndef ROAR_MEDIA_AVERROR_H
#define ROAR_MEDIA_AVERROR_H

#include <errno.h>
#include <libavutil/error.h>

/* Small ones are an errno already; the rest is about what the bytes say. */
static inline int averror_errno(int r)
{
	return r == AVERROR(ENOMEM) ? -ENOMEM : -EBADMSG;
}

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
