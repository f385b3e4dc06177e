/* live.h - /api/events: a snapshot, followed by its changes.
 *
 * Server-sent events.  A client gets
 *
 *	event: snapshot		everything except the workers: an object
 *	event: workers		workers, any number of times
 *	event: delta		what has changed; at least once a second
 *	event: workers		those that have changed
 *	...
 *
 * Each event's data is one line of JSON.  A `delta` has the changed members of `snapshot`
 * with their full values; "logs" and "history" have only new entries.  `workers` is
 *
 *	{"workers": [{"id": .., "job": .., what changed}], "gone": [{"id": .., "job": ..}]}
 *
 * The server checks for changes every LIVE_PAUSE_MS and sends them to clients that have
 * received everything before.  So a slow client gets fewer updates, and always the latest
 * state.  Little more than LIVE_PORTION bytes are queued per client; a client that accepts
 * nothing for HTTP_STALL_MS is disconnected. */
#ifndef COORDINATOR_LIVE_H
#define COORDINATOR_LIVE_H

#include "api/live_table.h"
#include "http/service.h"
#include "net/loop.h"

struct scope;
struct server;
struct live_client;

enum {
	LIVE_PAUSE_MS = 250,
	LIVE_SAY_MS = 1000, /* longest time without an event */
	LIVE_PORTION = 64 << 10,
	LIVE_MAX_CLIENTS = 64,
};

struct live {
	struct live_table table;
	struct live_client *clients;
	unsigned n_clients;
	struct loop_timer timer; /* set while there are clients */
	int64_t began_ms; /* start of the current sweep */
};

/* Makes the reply a stream.  Takes over `scope`, and releases it on failure. */
void live_open(struct server *s, struct scope *scope, struct http_reply *reply);

/* Ends the streams for which `which` returns true; NULL: all. */
void live_end(struct server *s, bool (*which)(const struct scope *scope));

#endif
