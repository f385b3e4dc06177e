/* frames_client.h - a connection to a server of frames (frames.h), made again when it is lost.
 *
 * The dial (net/dial.h) makes the connection; here are its frames.  Pings of the server are
 * answered, and a server that has been silent can be asked whether it is there.
 *
 * The user holds the struct.  Thread rules are those of the dial. */
#ifndef NET_FRAMES_CLIENT_H
#define NET_FRAMES_CLIENT_H

#include "base/str.h"
#include "net/dial.h"
#include "net/frames/frames.h"

#define FRAMES_ALPN "roar-frames"

struct frames_client;

/* None of these may free the client. */
struct frames_client_user {
	/* The connection is there, and the preface is under way: the user may send, and calls
	 * dial_good() when the server has shown that it is the right one. */
	void (*opened)(struct frames_client *f);
	/* One frame; not of FRAME_PING.  `data` is valid during the call. */
	void (*frame)(struct frames_client *f, const struct frame *frame,
		      const void *data);
	/* As dial_user's. */
	void (*failed)(struct frames_client *f, bool was_up);
	const char *tls_option; /* that the user of a TLS port may have left out */
};

struct frames_client {
	struct dial dial;

	/* Its own. */
	const struct frames_client_user *user;
	uint32_t max_len; /* bytes that a frame may carry */
	struct str in; /* a frame that is not whole */
	int64_t asked_ms; /* when the last ping was sent */
	bool no_memory; /* for a frame: the connection must end */
	struct loop_later flush;
};

/* Begins to connect.  -ENOMEM. */
int frames_client_open(struct frames_client *f, struct loop *loop,
		       const struct dial_options *options, uint32_t max_len,
		       const struct frames_client_user *user);
/* Also for a client that was never opened, if it is zeroed. */
void frames_client_close(struct frames_client *f);

/* Adds a frame, which leaves at the end of the round, or with frames_client_flush().  Without
 * memory the connection will end.  Only while the stream is open. */
void frames_client_send(struct frames_client *f, const struct frame *frame,
			const void *data);
/* Sends what waits. */
void frames_client_flush(struct frames_client *f);
/* Bytes that wait to be sent. */
size_t frames_client_unsent(const struct frames_client *f);

/* Reads what has arrived, and hands on all frames that are whole; for users who do not leave
 * that to the loop.  Returns how many frames it was.  The connection may be gone after it. */
size_t frames_client_read(struct frames_client *f);

/* Asks a server that has said nothing for `silence_ms` whether it is there.  Returns true when
 * it has not answered within `answer_ms`; else *ret_due_ms is when to look again. */
bool frames_client_is_silent(struct frames_client *f, int64_t silence_ms,
			     int64_t answer_ms, int64_t *ret_due_ms);

#endif
