/* peer.h - a client, and a server whose every byte the test writes by hand. */
#ifndef TESTS_HTTP_PEER_H
#define TESTS_HTTP_PEER_H

#include "http/http_client.h"
#include "test.h"

#define OK(len, body) "HTTP/1.1 200 OK\r\nContent-Length: " len "\r\n\r\n" body

/* What became of a call. */
struct outcome {
	struct http_call *call; /* NULL: it has ended */
	unsigned status; /* of the reply; 0: none came */
	struct str body;
	char trailer[64]; /* the first */
	int error;
	char sentence[256];
	unsigned n_ended, n_writable;
	bool pauses; /* with the first piece of the body */
	bool cancels; /* likewise */
};

extern const struct http_call_events outcome_events;
void outcome_release(struct outcome *o);

struct peer {
	struct loop *loop;
	struct http_client *client;
	int listener;
	uint16_t port; /* of the server */
	char origin[64]; /* "http://127.0.0.1:PORT" */
	int fd; /* of the connection that was accepted last; -1: none */
	int older[8]; /* those before it, which are still open */
	unsigned n_older;
	unsigned n_accepted;
	struct str got; /* by all of them */
	bool ended; /* the client has closed it */
	bool is_deaf; /* the server does not read */
};

/* The name "127.0.0.1" is what TLS certificates of tests have, too. */
void peer_init(struct peer *p, const struct http_client_limits *limits);
void peer_release(struct peer *p);

/* For cmocka: a peer with two connections per origin. */
int peer_setup(void **state);
int peer_teardown(void **state);
/* A new client with other limits. */
void peer_change_limits(struct peer *p, const struct http_client_limits *l);

/* Lets both sides go on for a few rounds. */
void peer_pump(struct peer *p);
/* Pumps until `*flag`, which has to come within seconds. */
void peer_pump_until(struct peer *p, const unsigned *flag);
/* The server sends this. */
void peer_say(struct peer *p, const char *text);
/* The server closes its connection. */
void peer_close(struct peer *p);

/* Begins a call.  `o` is zeroed. */
void peer_begin(struct peer *p, const struct http_call_request *q,
		struct outcome *o);
void peer_get(struct peer *p, const char *target, struct outcome *o);

#endif
