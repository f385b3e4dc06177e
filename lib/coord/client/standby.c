/* standby.c - coordinators that do not lead: where to ask instead.
 *
 * Where several share a state, all but one refuse every call, and the trailer "roar-leader"
 * has the address of the one that leads, or nothing while none does.  Nothing was done then,
 * so every call may be made again.
 *
 * If the leader is among our addresses we go there at once; if it has a name that we do not
 * know, to the next address.  When it cannot be reached (it died just now, and the others do
 * not know yet), or nobody leads, a worker stays with the standby that answered, and asks it
 * again and again on the same connection: thousands of workers that connect anew all the time
 * would keep the next leader from its work.  After a while the next address is tried all the
 * same. */
#include <stdio.h>
#include <string.h>

#include "coord/client/client.h"

enum {
	ASK_MS = 100, /* between two questions, and up to as much again twice */
	MAX_SENTENCE = 256,
};

/* The value of the trailer among those behind the sentence; false: there is none. */
static bool find_leader(const char *data, size_t len, const char **ret,
			size_t *ret_len)
{
	static const char name[] = "roar-leader=";
	const char *end = data + len;
	size_t n = strnlen(data, len);

	for (const char *at = data + n + 1; at < end; at += n + 1) {
		n = strnlen(at, (size_t)(end - at));
		if (n < sizeof(name) - 1 ||
		    memcmp(at, name, sizeof(name) - 1) != 0)
			continue;
		*ret = at + sizeof(name) - 1;
		*ret_len = n - (sizeof(name) - 1);
		return true;
	}
	return false;
}

static bool is_at(const struct address *a, const char *text, size_t len)
{
	return strlen(a->name) == len && memcmp(a->name, text, len) == 0;
}

/* Which of our addresses that is; as many as we have: none. */
static size_t find_address(const struct roar_coord *c, const char *text,
			   size_t len)
{
	size_t i = 0;

	while (i < c->addresses.n && !is_at(&c->addresses.list[i], text, len))
		i++;
	return i;
}

static bool is_ours(const struct client_call *call)
{
	return call->finish && !call->user_done;
}

/* The registration waits on its connection. */
static void ask_again(struct client_call *call, const char *why)
{
	struct client_link *l = &call->c->link;
	struct dial *d = &l->frames.dial;

	(void)snprintf(l->failure, sizeof(l->failure), "%s: %s",
		       dial_address(d)->text, why);
	call->state = CALL_QUEUED;
	call->not_before_ms = client_now_ms() + ASK_MS +
			      dial_jitter(d, 2 * ASK_MS);
}

/* Elsewhere, with all calls.  After a round through all addresses there is a pause. */
static void go_elsewhere(struct client_call *call, size_t leader,
			 const char *why)
{
	struct roar_coord *c = call->c;
	struct dial *d = &c->link.frames.dial;
	bool known = leader < c->addresses.n && leader != d->address;
	size_t next = known ? leader : (d->address + 1) % c->addresses.n;
	int64_t pause_ms = 0;

	if (!known && ++c->link.n_standbys % c->addresses.n == 0)
		pause_ms = ASK_MS + dial_jitter(d, 2 * ASK_MS);
	if (!is_ours(call))
		client_call_repeat(call);
	dial_move(d, next, pause_ms, why);
	c->link.is_hinted = known;
}

/* A registration can wait here, when there is no better place to ask. */
static bool shall_stay(const struct client_call *call, size_t leader,
		       bool nobody_leads)
{
	const struct roar_coord *c = call->c;

	return call == &c->join &&
	       (nobody_leads || leader == c->link.frames.dial.address ||
		c->link.misled == leader + 1);
}

bool client_standby_said(struct client_call *call, const char *data, size_t len)
{
	struct roar_coord *c = call->c;
	char why[MAX_SENTENCE];
	const char *text;
	size_t text_len, leader;

	if (!find_leader(data, len, &text, &text_len))
		return false;
	(void)snprintf(why, sizeof(why), "%.*s", (int)strnlen(data, len), data);
	leader = find_address(c, text, text_len);
	if (shall_stay(call, leader, text_len == 0))
		ask_again(call, why);
	else
		go_elsewhere(call, leader, why);
	return true;
}
