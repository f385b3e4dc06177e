/* client.h - what a process of a worker is, and its connection */
#ifndef SIMULATE_CLIENT_H
#define SIMULATE_CLIENT_H

#include "sim.h"

struct client {
	const struct item *item;
	uint32_t index;
	uint64_t random;
	bool alive;
	uint32_t life; /* timers of an earlier one do nothing */
	int64_t paused_until, cut_until;
	uint64_t conn; /* 0: none */
	uint64_t server_life; /* whose connection that is */
	int64_t sent_until, received_until; /* order on the connection */
	uint64_t session;
	int64_t interval;
	bool registered;
	uint64_t heartbeat, joining; /* calls under way */
	uint64_t stream, watch; /* calls that last */
	int64_t heartbeat_at;
	size_t step;
	struct ask doing; /* the call of the step; call 0: none */
	uint32_t tries;
	uint64_t next[N_NAMES + N_GROUPS + 1]; /* generations; 0: not known */
	uint64_t version; /* of the key that was taken */
	uint32_t n_set;
	uint16_t data; /* what it has done last with the dataset: a method; 0: nothing */
	uint64_t lease, lent; /* what it was lent; as bits */
	uint64_t n_takes; /* of leases: their numbers */
	bool taking; /* the answer to the last has not come */
	uint64_t epoch; /* of the world, as last told */
	bool writes; /* all parts are there: the manifest comes next */
	struct ask using; /* what it says of the lease, until that is answered */
};

/* ---- wire.c ---- */

void wire_send(struct sim *s, struct client *c, struct ask *ask);
void wire_cancel(struct sim *s, struct client *c, uint64_t call);
/* The connection ends, and its calls with it; the server hears `later` ms after all that
 * was sent. */
void wire_end(struct sim *s, struct client *c, int64_t later);
/* Calls end with their connection. */
void wire_lose(struct client *c);

/* ---- client.c ---- */

void client_connect_later(struct sim *s, struct client *c);

#endif
