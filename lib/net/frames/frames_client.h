/* frames_client.h - a client connection of the frames protocol (frames.h), with
 * reconnection.
 *
 * The dial (net/dial.h) makes the connection; this module handles its frames.  It answers
 * pings of the server, and can ping a server that has been silent.
 *
 * The user owns the struct.  The thread rules are those of the dial. */
#ifndef NET_FRAMES_CLIENT_H
#define NET_FRAMES_CLIENT_H

#include "base/str.h"
#include "net/dial.h"
#include "net/frames/frames.h"

#define FRAMES_ALPN "roar-frames"

struct frames_client;

/* None of these may free the client. */
struct frames_client_user {
	/* The connection was made, and the preface is queued: the user may send, and calls
	 * dial_good() when the server has proved to be the right one. */
	void (*opened)(struct frames_client *f);
	/* A frame arrived, other than FRAME_PING.  `data` is valid during the call. */
	void (*frame)(struct frames_client *f, const struct frame *frame,
		      const void *data);
	/* As in struct dial_user. */
	void (*failed)(struct frames_client *f, bool was_up);
	const char *tls_option; /* option to suggest if the port expects TLS */
};

struct frames_client {
	struct dial dial;

	/* Private. */
	const struct frames_client_user *user;
	uint32_t max_len; /* of the data of a frame */
	struct str in; /* an incomplete frame */
	int64_t asked_ms; /* when the last ping was sent */
	bool no_memory; /* out of memory: the connection must end */
	struct loop_later flush;
};

/* Starts to connect.  -ENOMEM. */
int frames_client_open(struct frames_client *f, struct loop *loop,
		       const struct dial_options *options, uint32_t max_len,
		       const struct frames_client_user *user);
/* Also for a client that was never opened, if it is zeroed. */
void frames_client_close(struct frames_client *f);

/* Queues a frame, which is sent at the end of the round, or by frames_client_flush().  When
 * out of memory, the connection will end.  The stream must be open. */
void frames_client_send(struct frames_client *f, const struct frame *frame,
			const void *data);
/* Sends the queued output. */
void frames_client_flush(struct frames_client *f);
/* Bytes that wait to be sent. */
size_t frames_client_unsent(const struct frames_client *f);

/* Reads input and passes on all complete frames; for users that do not leave this to the
 * loop.  Returns the number of frames.  The connection may have ended meanwhile. */
size_t frames_client_read(struct frames_client *f);

/* Pings a server that has sent nothing for `silence_ms`.  Returns true if the server has
 * not replied within `answer_ms`; otherwise *ret_due_ms is when to check again. */
bool frames_client_is_silent(struct frames_client *f, int64_t silence_ms,
			     int64_t answer_ms, int64_t *ret_due_ms);

#endif
