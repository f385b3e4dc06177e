/* reply_queue.c - see reply_queue.h */
#include "rpc/reply_queue.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum { ALIGN = 8 };

static void forget(void *data, const struct queued_reply *head,
		   const void *message, const char *sentence,
		   const char *absent)
{
	(void)data;
	(void)head;
	(void)message;
	(void)sentence;
	(void)absent;
}

void reply_queue_release(struct reply_queue *h)
{
	reply_queue_drain(h, UINT64_MAX, forget, NULL);
	str_release(&h->bytes);
	*h = (struct reply_queue){ 0 };
}

size_t reply_queue_bytes(const struct reply_queue *h)
{
	return h->bytes.len - h->begin + h->shared;
}

/* Ends that are the same stand one behind the other: the state machine tells all who
 * wait for something at once. */
static void count_end(struct reply_queue *h, struct rpc_shared *end)
{
	if (!end)
		return;
	(void)rpc_shared_ref(end);
	if (end != h->last)
		h->shared += rpc_shared_len(end);
}

static void drop_end(struct reply_queue *h, struct rpc_shared *end)
{
	const char *next = h->bytes.data + h->begin;
	struct queued_reply head = { 0 };

	if (h->n)
		memcpy(&head, next, sizeof(head));
	if (!end)
		return;
	if (end != head.end)
		h->shared -= rpc_shared_len(end);
	rpc_shared_unref(end);
}

static size_t message_len(const struct queued_reply *head)
{
	return head->len == REPLY_NO_MESSAGE ? 0 : head->len;
}

/* With what fills it up, so that the next one is aligned. */
static size_t whole_len(const struct queued_reply *head)
{
	size_t len = sizeof(*head) + message_len(head) + head->sentence_len +
		     head->absent_len;

	return (len + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

/* Moves what waits to the front when at least as much has left: each byte is moved
 * once on average. */
static void close_up(struct reply_queue *h)
{
	size_t waiting = h->bytes.len - h->begin;

	if (h->begin < waiting || h->begin == 0)
		return;
	memmove(h->bytes.data, h->bytes.data + h->begin, waiting);
	h->bytes.len = waiting;
	h->begin = 0;
}

int reply_queue_add(struct reply_queue *h, const struct queued_reply *head,
		    const void *message, const char *sentence,
		    const char *absent)
{
	struct queued_reply own = *head;
	size_t end;

	assert(message || !head->len || head->len == REPLY_NO_MESSAGE);
	own.sentence_len = sentence ? (uint32_t)strlen(sentence) + 1 : 0;
	own.absent_len = absent ? (uint32_t)strlen(absent) + 1 : 0;
	close_up(h);
	if (str_reserve(&h->bytes, whole_len(&own) + 1) < 0) {
		h->bytes.failed = false; /* what is in it is whole */
		return -ENOMEM;
	}
	end = h->bytes.len + whole_len(&own);
	str_add(&h->bytes, &own, sizeof(own));
	str_add(&h->bytes, message, message_len(&own));
	str_add(&h->bytes, sentence, own.sentence_len);
	str_add(&h->bytes, absent, own.absent_len);
	str_pad(&h->bytes, '\0', end - h->bytes.len);
	h->n++;
	count_end(h, own.end);
	h->last = own.end;
	return 0;
}

static void give(const char *at, const struct queued_reply *head,
		 void (*leave)(void *data, const struct queued_reply *head,
			       const void *message, const char *sentence,
			       const char *absent),
		 void *data)
{
	const char *message = at + sizeof(*head);
	const char *sentence = message + message_len(head);
	const char *absent = sentence + head->sentence_len;

	leave(data, head, head->len == REPLY_NO_MESSAGE ? NULL : message,
	      head->sentence_len ? sentence : NULL,
	      head->absent_len ? absent : NULL);
}

void reply_queue_drain(struct reply_queue *h, uint64_t seq,
		       void (*leave)(void *data, const struct queued_reply *head,
				     const void *message, const char *sentence,
				     const char *absent),
		       void *data)
{
	while (h->n > 0) {
		const char *at = h->bytes.data + h->begin;
		struct queued_reply head;

		memcpy(&head, at, sizeof(head));
		if (head.seq > seq)
			return;
		give(at, &head, leave, data);
		h->begin += whole_len(&head);
		h->n--;
		drop_end(h, head.end);
	}
	h->begin = 0;
	h->last = NULL;
	str_clear(&h->bytes);
	if (h->bytes.cap > REPLY_QUEUE_KEEP)
		str_release(&h->bytes);
}
