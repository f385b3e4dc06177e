/* channel_internal.h - a connection to a member of etcd, as its two files see it.
 *
 *	channel.c		the socket: from connect() to its loss
 *	channel_calls.c		what is said on it: requests, replies, statuses
 */
#ifndef ETCD_CHANNEL_INTERNAL_H
#define ETCD_CHANNEL_INTERNAL_H

#include <nghttp2/nghttp2.h>

#include "etcd/channel.h"
#include "net/stream.h"

struct channel {
	struct loop *loop;
	struct shelf shelf;
	struct loop_fd connecting; /* fd -1: over */
	struct stream stream; /* fd.fd -1: not yet */
	struct loop_timer
		timer; /* until it is connected; then what is lost is told */
	struct loop_later flush;
	nghttp2_session *http2;
	char *authority, *host;
	char *token; /* NULL: none */
	struct tls_client *tls; /* NULL: plain */
	void (*lost)(void *data, const char *sentence);
	void *data;
	struct channel_call *calls;
	unsigned busy;
	bool closed; /* to be freed when nobody is inside */
	bool is_heard; /* the server has said something behind TLS */
	bool is_lost; /* its owner is, or will be, told */
	char why[256];
};

/* ---- channel.c ---- */

/* It cannot be used any more.  Told at the next turn of the loop: whoever made us notice is
 * not surprised. */
void channel_lose(struct channel *c, const char *why);

/* ---- channel_calls.c ---- */

/* The session that calls are made in. */
int channel_begin_http2(struct channel *c);
/* Ends all calls with UNAVAILABLE. */
void channel_end_calls(struct channel *c, const char *sentence);

#endif
