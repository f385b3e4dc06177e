/* wire.c - the network between a process and the coordinator
 *
 * A connection delivers in order, or not at all.  What the client has sent before its
 * connection ends may still come; the server hears of the end later, or, when a
 * machine died or a network was cut, much later. */
#include <inttypes.h>
#include <stdlib.h>

#include "client.h"

/* ---- to the coordinator ---- */

static int64_t delay(struct client *c)
{
	return 1 + pick(&c->random, chance(&c->random, 20) ? 200 : 5);
}

static void arrive(struct sim *s, void *what, uint64_t life)
{
	struct ask *ask = what;

	/* What is over when it comes is refused by the server at its next look. */
	if (ask->deadline <= s->now)
		ask->deadline = s->now + 1;
	if (s->server.c && s->server.life == life) {
		sim_trace(s,
			  "w%u of j%u (item %u) asks: method %u, call %" PRIu64
			  ", generation %" PRIu64 ", name %u.%u",
			  ask->who, ask->job, ask->client, ask->method,
			  ask->call, ask->generation, ask->name, ask->group);
		server_ask(s, ask);
	}
}

static void arrive_end(struct sim *s, void *what, uint64_t life)
{
	if (s->server.c && s->server.life == life)
		server_gone(s, *(uint64_t *)what);
}

static void arrive_cancel(struct sim *s, void *what, uint64_t life)
{
	if (s->server.c && s->server.life == life)
		server_cancel(s, *(uint64_t *)what);
}

/* When what is sent now is there. */
static int64_t sent(struct sim *s, struct client *c)
{
	int64_t at = s->now > c->cut_until ? s->now : c->cut_until;

	at += delay(c);
	if (at < c->sent_until)
		at = c->sent_until;
	c->sent_until = at;
	return at - s->now;
}

static void send_number(struct sim *s, struct client *c, uint64_t number,
			void (*happen)(struct sim *s, void *what, uint64_t n),
			int64_t later)
{
	uint64_t *copy = malloc(sizeof(*copy));

	*copy = number;
	sim_after(s, sent(s, c) + later, happen, copy, c->server_life);
}

void wire_send(struct sim *s, struct client *c, struct ask *ask)
{
	struct ask *copy = malloc(sizeof(*copy));

	if (!ask->follows)
		ask->call = ++s->last_call;
	ask->conn = c->conn;
	ask->client = c->index;
	ask->job = c->item->job;
	ask->who = c->item->who;
	*copy = *ask;
	sim_after(s, sent(s, c), arrive, copy, c->server_life);
}

void wire_lose(struct client *c)
{
	c->conn = 0;
	c->heartbeat = c->joining = c->stream = c->watch = 0;
}

void wire_cancel(struct sim *s, struct client *c, uint64_t call)
{
	send_number(s, c, call, arrive_cancel, 0);
}

void wire_end(struct sim *s, struct client *c, int64_t later)
{
	if (!c->conn)
		return;
	send_number(s, c, c->conn, arrive_end, later);
	wire_lose(c);
}

/* ---- from it ---- */

struct delivery {
	struct answer answer;
	uint64_t conn;
	uint32_t client;
};

static void deliver(struct sim *s, void *what, uint64_t n)
{
	struct delivery *d = what;
	struct client *c = &s->clients[d->client];

	(void)n;
	if (!c->alive || c->conn != d->conn)
		return;
	if (s->now < c->paused_until) {
		struct delivery *later = malloc(sizeof(*later));

		*later = *d;
		sim_after(s, c->paused_until - s->now, deliver, later, 0);
		return;
	}
	client_answer(s, d->client, &d->answer);
}

void client_send(struct sim *s, const struct answer *a, const struct ask *to)
{
	struct client *c;
	struct delivery *d;
	int64_t at;

	if (!to->conn)
		return; /* an administrator */
	c = &s->clients[to->client];
	if (c->conn != to->conn)
		return;
	/* Answers from meetings get lost more often than by chance. */
	if (c->doing.call == a->call && chance(&c->random, 25)) {
		sim_trace(s, "the answer to call %" PRIu64 " is lost", a->call);
		wire_end(s, c, pick(&c->random, 20));
		client_connect_later(s, c);
		return;
	}
	d = malloc(sizeof(*d));
	*d = (struct delivery){ *a, to->conn, to->client };
	at = (s->now > c->cut_until ? s->now : c->cut_until) + delay(c);
	if (at < c->received_until)
		at = c->received_until;
	c->received_until = at;
	sim_after(s, at - s->now, deliver, d, 0);
}
