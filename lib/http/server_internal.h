/* server_internal.h - what the files of the server share; for them alone.
 *
 *	server.c	listeners, connections and their time
 *	connection.c	bytes in: heads, bodies, one exchange after the other
 *	reply.c		bytes out */
#ifndef HTTP_SERVER_INTERNAL_H
#define HTTP_SERVER_INTERNAL_H

#include "http/body.h"
#include "http/server.h"
#include "net/acceptor.h"
#include "net/stream.h"

/* How far a reply is. */
enum reply_state {
	REPLY_NONE,
	REPLY_BEGUN,
	REPLY_ENDED,
};

struct http_connection {
	struct stream stream;
	struct http_server *server;
	struct http_connection *next, *prev; /* the quietest is the first */
	struct loop_later later; /* flushes, and goes on */
	int64_t since_ms; /* it is quiet */
	struct buffer in; /* received and not parsed */
	size_t scanned; /* of it, by http_head_find() */
	size_t counted; /* bytes unsent, as the server's sum has them */
	bool has_asked; /* a head has come */
	bool ends; /* no request follows the one at hand */
	bool is_broken; /* to be closed without another word */
	bool lingers; /* the reply has left, and the client still sends */
	bool is_processing; /* connection_process() is on the stack */
	bool peer_ended; /* no bytes follow those in `in` */
	int64_t tag; /* the handler's */

	/* The exchange at hand; none while `is_active` is false. */
	bool is_active;
	bool is_paused; /* by the handler */
	bool defers_continue;
	bool was_continued;
	bool is_head_request;
	bool is_chunked; /* the reply */
	enum reply_state reply;
	uint64_t max_body, n_body; /* bytes of the request's body */
	int64_t reply_left; /* bytes that the reply still has to have */
	struct str fields, trailers; /* of the reply, as lines */
	struct http_head head;
	struct http_body_reader reader;
	struct http_exchange exchange;
};

struct http_listener {
	struct acceptor acceptor; /* first: its pointer is ours */
	struct http_server *server;
	struct tls_server *tls;
};

struct http_server {
	struct loop *loop;
	const struct http_handler *handler;
	void *ctx;
	struct http_limits limits;
	struct shelf shelf;
	struct http_listener **listeners;
	size_t n_listeners, listeners_cap;
	struct http_connection *quietest, *latest;
	struct loop_timer sweep; /* set while there are connections */
	struct http_counts counts;
	size_t n_unsent; /* bytes, of all connections */
	struct str field; /* that every reply has, as a line */
	int64_t date_s; /* of `date` */
	char date[40];
	char *input; /* of HTTP_READ_LEN bytes, for one read() */
};

/* ---- server.c ---- */

/* Bytes came or left: the connection is the least quiet of all. */
void connection_refresh(struct http_connection *c);
/* Ends it and frees it; the handler hears of an exchange that was at hand. */
void connection_free(struct http_connection *c);

/* ---- connection.c ---- */

void connection_on_ready(struct loop_fd *f, uint32_t events);
void connection_on_later(struct loop_later *l);
/* At the end of the round. */
void connection_wake(struct http_connection *c);

/* ---- reply.c ---- */

/* Refuses the request at hand, or what could not be read as one, and ends the
 * connection. */
void connection_refuse(struct http_connection *c, unsigned status,
		       const char *why);
/* Keeps the server's sum of unsent bytes. */
void connection_count(struct http_connection *c);

#endif
