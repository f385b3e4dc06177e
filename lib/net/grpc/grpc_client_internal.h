/* grpc_client_internal.h - shared by the two files of the gRPC client.
 *
 *	grpc_client.c		the connection: bytes in and out, its end
 *	grpc_client_calls.c	the calls on it: requests, replies, statuses
 */
#ifndef NET_GRPC_CLIENT_INTERNAL_H
#define NET_GRPC_CLIENT_INTERNAL_H

#include <nghttp2/nghttp2.h>

#include "net/grpc/grpc_client.h"

enum { GRPC_CLIENT_FIELDS = 2 }; /* of metadata that the user may set */

struct grpc_client {
	struct dial dial;
	struct loop_later flush;
	nghttp2_session *http2; /* of this connection; NULL: there is none */
	struct {
		const char *name; /* NULL: free */
		char *value;
	} fields[GRPC_CLIENT_FIELDS];
	const struct grpc_client_user *user;
	void *data;
	struct grpc_client_call *calls;
	/* nghttp2 must not be freed while one of its callbacks is on the stack.  So `busy`
	 * counts active callbacks, and the last one to return carries out the request. */
	unsigned busy;
	bool closed; /* to be freed */
	bool is_lost; /* the connection is to end, for the reason `why` */
	char why[256];
};

/* ---- grpc_client.c ---- */

void grpc_client_flush_soon(struct grpc_client *c);

/* ---- grpc_client_calls.c ---- */

/* Creates the HTTP/2 session for the calls.  -ENOMEM. */
int grpc_client_begin_http2(struct grpc_client *c);
/* Ends all calls with UNAVAILABLE. */
void grpc_client_end_calls(struct grpc_client *c, const char *sentence);

#endif
