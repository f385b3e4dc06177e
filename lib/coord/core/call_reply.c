/* call_reply.c - what a call is told, and the sentences for it. */
#include "coord/core/state.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

enum { MAX_SENTENCE = 1024 };

void *shared_reply_begin(struct coord *c, void *common, void *own)
{
	if (!c->host.share)
		return common;
	c->host.share(c->host_data, common);
	return own;
}

void shared_reply_end(struct coord *c)
{
	if (c->host.share)
		c->host.share(c->host_data, NULL);
}

void call_reply(struct coord *c, uint64_t call, enum coord_status status,
		const void *message, const char *sentence)
{
	c->host.reply(c->host_data, call, status, message, sentence, NULL, 0);
}

void request_reply(const struct request *q, const void *message)
{
	call_reply(q->c, q->call, q->good, message, NULL);
}

void request_refuse(const struct request *q, enum coord_status status,
		    const char *fmt, ...)
{
	char sentence[MAX_SENTENCE];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	call_reply(q->c, q->call, status, NULL, sentence);
}

enum coord_status change_status(int r)
{
	switch (r) {
	case -ENOMEM:
	case -ENOSPC:
	case -EMSGSIZE:
		return COORD_RESOURCE_EXHAUSTED;
	case -EBADMSG:
		return COORD_INTERNAL;
	default:
		return COORD_UNAVAILABLE;
	}
}

const char *change_sentence(int r)
{
	switch (r) {
	case -ENOMEM:
		return "the coordinator is out of memory; nothing was changed";
	case -ENOSPC:
		return "the coordinator's disk is full; nothing was changed, try again when there is room in its data directory, or in etcd";
	case -EMSGSIZE:
		return "this is larger than the coordinator's log takes; nothing was changed";
	case -EAGAIN:
		return "the coordinator's log is slow and too much waits for it; nothing was changed, try again";
	case -EBADMSG:
		return "the coordinator's state does not allow what it was about to do; nothing was changed";
	default:
		return "the coordinator's log cannot be written; nothing was changed, see the coordinator's messages";
	}
}

void request_refuse_change(const struct request *q, int r)
{
	call_reply(q->c, q->call, change_status(r), NULL, change_sentence(r));
}

void job_log(struct job *job, int level, const char *fmt, ...)
{
	char sentence[MAX_SENTENCE];
	struct coord *c = job->c;
	va_list ap;

	if (c->replaying || !c->host.note)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	c->host.note(c->host_data, level, job->id, sentence);
}
