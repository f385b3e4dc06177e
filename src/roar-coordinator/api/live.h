/* live.h - /api/events: what there is, and then what changes, as it changes.
 *
 * Server-sent events.  A watcher gets
 *
 *	event: snapshot		all but the workers: an object
 *	event: workers		workers, any number of times
 *	event: delta		what is not as it was said before; once a second at least
 *	event: workers		those that are not as they were said before
 *	...
 *
 * Each event's data is one line of JSON.  A `delta` has the members of `snapshot` that
 * changed, whole, but for "logs" and "history", which have what is new.  `workers` is
 *
 *	{"workers": [{"id": .., "job": .., what changed}], "gone": [{"id": .., "job": ..}]}
 *
 * Changes are looked for every LIVE_PAUSE_MS, and told to who has taken all that was told
 * before: a slow watcher hears less often, and of the last state.  What waits for one is
 * LIVE_PORTION bytes and little more; a client that takes nothing for HTTP_STALL_MS is disconnected. */
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
	LIVE_SAY_MS = 1000, /* after which something is said in any case */
	LIVE_PORTION = 64 << 10,
	LIVE_MAX_CLIENTS = 64,
};

struct live {
	struct live_table table;
	struct live_client *clients;
	unsigned n_clients;
	struct loop_timer timer; /* set while there are clients */
	int64_t began_ms; /* the sweep under way */
};

/* Makes the reply a stream.  `scope` is the client's from here on, or given back. */
void live_open(struct server *s, struct scope *scope, struct http_reply *reply);

/* Ends the streams that `which` is true for, all for NULL. */
void live_end(struct server *s, bool (*which)(const struct scope *scope));

#endif
